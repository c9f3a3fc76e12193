#include "studies/train_benchmark/request.h"

#include <algorithm>

#include "base/error.h"
#include "base/streams.h"
#include "cli/cli.h"
#include "cli/grid_ranks.h"
#include "cli/interrupt.h"
#include "cli/measuring.h"
#include "cli/meter_options.h"
#include "cli/outputs.h"
#include "cli/peer_options.h"
#include "cli/ranks.h"
#include "cli/shard_options.h"
#include "cli/step_options.h"
#include "processes/gather.h"
#include "processes/launch.h"
#include "report/formats.h"
#include "studies/rank_benchmark/request.h"

namespace assay {
namespace {

struct TrainBenchmarkCommand {
  TrainBenchmarkRequest request;
  MachineOptions machine;
  OutputOptions outputs;
  StoreOptions store;
  ShardOptions shard;
  RankBenchmarkRequest ranks;  ///< What of it is of ranks alone.
};

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    parts.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

void add_shape_options(CLI::App& command, TrainBenchmarkRequest& request) {
  static const std::map<std::string, StepParts> parts = {
      {"forward", StepParts::forward}, {"forward-backward", StepParts::forward_backward}, {"step", StepParts::whole}};
  static const std::map<std::string, Fusion> fusions = {{"on", Fusion::on}, {"off", Fusion::off}};
  command.add_option("models", request.models, "presets, folders or cached models; comma-separated")->required();
  command.add_option("--precision", request.precisions, "comma-separated (default fp32)")->delimiter(',');
  command.add_option("--batch", request.batches, "rows a step, comma-separated (default 4)")
      ->delimiter(',')
      ->check(CLI::Range(1, 1 << 20));
  command.add_option("--seq", request.seqs, "tokens a row, comma-separated (default 128)")
      ->delimiter(',')
      ->check(CLI::Range(1, 1 << 20));
  command.add_option("--fusion", request.fusions, "on, off or both (default on)")
      ->delimiter(',')
      ->transform(CLI::CheckedTransformer(fusions))
      ->option_text("on|off");
  command.add_option("--warmup", request.warmups, "steps that do not count (default 5); several: the warm-up study")
      ->delimiter(',')
      ->check(CLI::Range(0, 1 << 20));
  command.add_option("--steps", request.steps, "steps that count (default 10)")->check(CLI::Range(1, 1 << 20));
  command.add_option("--seconds", request.seconds, "a row that would take longer is too slow (default 120)")
      ->check(between(0.01, 1e6));
  command.add_option("--device", request.device, "where it runs (default cpu); reference: slow, obvious loops")
      ->option_text("cpu|cuda|mps|reference");
  add_graphs_option(command, request.graphs);
  add_choice(command, "--mode", request.parts, parts, "how far a step goes (default step)");
  add_step_axes(command, request.step);
  add_peer_list(command, request.peers, request.peer_seconds);
  add_model_options(command, request.model_options);
  add_lora_option(command, request.model_options);
  add_size_options(command, request.model_options);
  add_meter_options(command, request.energy);
}

/// Other programs are timed at whole steps of all weights, with AdamW as it is.
void refuse_misfits_of_peers(const TrainBenchmarkCommand& options, const CLI::App& command) {
  if (options.request.peers.empty()) return;
  refuse_step_axes(command, "other programs do a step in one way; drop it, or --peers");
  for (const char* name : {"--mode", "--lora", "--lora-from", "--with"}) {
    const CLI::Option* const option = command.get_option_no_throw(name);
    if (option != nullptr && option->count() > 0) fail_user("{}: is this program's alone; drop it, or --peers", name);
  }
  if (options.request.device != "cpu") fail_user("--device: with --peers, which run on the processor, it is cpu");
}

void settle_benchmark(TrainBenchmarkRequest& request) {
  std::vector<std::string> models;
  for (const std::string& list : request.models) {
    for (const std::string& model : split(list)) models.push_back(model);
  }
  settle_models(models, request.model_options);
  request.models = models;
}

GridPart measure_steps(TrainBenchmarkCommand& options, const StoreOptions& store) {
  settle_benchmark(options.request);
  Measuring measuring(store);
  return measuring.part(train_benchmark(
      options.request, [&] { return measuring.probe_machine(options.machine, options.request.device); },
      measuring.callbacks()));
}

int run_train_benchmark(TrainBenchmarkCommand& options, const CLI::App& command) {
  refuse_misfits_of_peers(options, command);
  options.request.division = division_of(options.shard);
  return run_grid(
      {options.shard, options.request.division, options.store, options.outputs},
      [&](const StoreOptions& store) { return measure_steps(options, store); },
      [&](const std::vector<GridPart>& parts) {
        deliver_grid(parts, options.outputs, {.join = steps_document});
        return grid_code(parts);
      });
}

/// What a run by several ranks does in one way alone: it times whole steps of this program.
constexpr const char* misfits_of_ranks[] = {"--mode", "--fusion", "--graphs", "--seconds", "--peers"};

void refuse_misfits_of_ranks(const TrainBenchmarkRequest& request, const CLI::App& command) {
  for (const char* name : misfits_of_ranks) {
    const CLI::Option* const option = command.get_option_no_throw(name);
    if (option != nullptr && option->count() > 0) fail_user("{}: not with several ranks; drop it", name);
  }
  if (request.warmups.size() > 1) fail_user("--warmup: one number with several ranks");
}

RankBenchmarkRequest rank_request(const TrainBenchmarkCommand& options) {
  RankBenchmarkRequest ranks = options.ranks;
  ranks.steps = options.request;
  const std::vector<StepVariant> steps = step_variants(options.request.step);
  if (steps.size() > 1 || steps.front().accumulate > 1)
    fail_user("train --benchmark: by several ranks takes one way to do a step, without --accumulate");
  ranks.step = steps.front();
  return ranks;
}

bool is_divided(const ShardOptions& shard) {
  return !shard.shard.empty() || shard.every_machine == EveryMachine::yes;
}

/// Of a rank that does not tell.
int run_beside_rank_0(const RankBenchmarkRequest& request, const MachineFacts& facts, Group& group) {
  const std::atomic<bool>& interrupted = watch_interrupts();
  agreed_in_patience(group, [] {});  // Rank 0 probes its machine.
  StudyCallbacks callbacks;
  callbacks.interrupted = &interrupted;
  rank_benchmark(request, facts, group, callbacks);
  return static_cast<int>(interrupted ? ExitCode::interrupted : ExitCode::ok);
}

/// Rank 0 has the store, measures peaks where no cache has them, and tells.
int run_as_rank_0(const RankBenchmarkRequest& request, const TrainBenchmarkCommand& options, Group& group) {
  Measuring measuring(options.store);
  MachineFacts facts;
  agreed_in_patience(group, [&] { facts = measuring.probe_machine(options.machine, request.steps.device); });
  std::vector<GridPart> parts;
  parts.push_back(measuring.part(rank_benchmark(request, facts, group, measuring.callbacks())));
  for (const std::string& sentence : parts.front().sentences) tell(sentence + "\n");
  deliver_grid(parts, options.outputs, {.join = steps_document});
  return grid_code(parts);
}

int run_by_ranks(TrainBenchmarkCommand& options, const CLI::App& command, Group& group) {
  const MachineFacts facts = facts_of_rank(group, options.machine, options.request.device);
  RankBenchmarkRequest request;
  agreed(group, [&] {
    refuse_misfits_of_ranks(options.request, command);
    settle_benchmark(options.request);
    request = rank_request(options);
  });
  return group.rank() == 0 ? run_as_rank_0(request, options, group) : run_beside_rank_0(request, facts, group);
}

/// Under a launcher of MPI every rank runs the grid, and rank 0 tells; with --shard its ranks are shards, and no group.
int run_benchmark(TrainBenchmarkCommand& options, const CLI::App& command) {
  if (!is_launched() || is_divided(options.shard)) refuse_rank_options(command);
  if (!is_launched_as_rank() || is_divided(options.shard)) return run_train_benchmark(options, command);
  return as_rank({task_of_command(command), options.request.device},
                 [&](Group& group) { return run_by_ranks(options, command, group); });
}

}  // namespace

void add_train_benchmark(CLI::App& program, Action& action) {
  const auto options = std::make_shared<TrainBenchmarkCommand>();
  CLI::App& command = *program.add_subcommand("train", "Time training steps: forward, backward, update");
  command.footer(
      "example: assay train --benchmark cs336-small --precision fp32,mixed-bf16 --batch 4 --seq 128,256 --warmup 5");
  command.add_flag_callback("--benchmark", [] {}, "measure time instead of training");
  add_shape_options(command, options->request);
  add_reduce_list(command, options->ranks.formats);
  add_reduce_by(command, options->ranks.reduce.by);
  add_zero(command, options->ranks.stage);
  add_output_options(command, options->outputs);
  add_record_outputs(command, options->outputs);
  add_store_option(command, options->store);
  add_shard_options(command, options->shard);
  add_machine_options(command, options->machine);
  command.callback(
      [options, &action, &command] { action = [options, &command] { return run_benchmark(*options, command); }; });
}

}  // namespace assay
