#include "cli/cli.h"
#include "cli/grid_ranks.h"
#include "cli/measuring.h"
#include "cli/outputs.h"
#include "cli/shard_options.h"
#include "studies/attention/request.h"

namespace assay {
namespace {

struct AttentionCommand {
  AttentionRequest request;
  MachineOptions machine;
  OutputOptions outputs;
  StoreOptions store;
  ShardOptions shard;
};

GridPart measure_attention(AttentionCommand& options, const StoreOptions& store) {
  Measuring measuring(store);
  return measuring.part(attention(
      options.request, [&] { return measuring.probe_machine(options.machine, options.request.device); },
      measuring.callbacks()));
}

int run_attention(AttentionCommand& options) {
  options.request.division = division_of(options.shard);
  return run_grid(
      {options.shard, options.request.division, options.store, options.outputs},
      [&](const StoreOptions& store) { return measure_attention(options, store); },
      [&](const std::vector<GridPart>& parts) {
        deliver_grid(parts, options.outputs);
        return grid_code(parts);
      });
}

}  // namespace

void add_attention(CLI::App& program, Action& action) {
  const auto options = std::make_shared<AttentionCommand>();
  AttentionRequest& request = options->request;
  CLI::App& command = *program.add_subcommand(
      "attention", "Measure attention alone, naive and fused: forward, memory before the backward, backward");
  command.footer("example: assay attention --batch 8 --head-dim 16,64 --seq 256,1024,4096 --causal");
  command.add_option("--batch", request.batch, "rows (default 8)")->check(CLI::Range(1, 1 << 12));
  command.add_option("--heads", request.heads, "heads (default 1)")->check(CLI::Range(1, 1 << 8));
  command.add_option("--head-dim", request.head_dims, "comma-separated (default 16,32,64,128)")
      ->delimiter(',')
      ->check(CLI::Range(1, 1 << 12));
  command.add_option("--seq", request.seqs, "tokens, comma-separated (default 256,1024,4096,8192,16384)")
      ->delimiter(',')
      ->check(CLI::Range(1, 1 << 17));
  command.add_option("--precision", request.precisions, "comma-separated (default fp32)")->delimiter(',');
  command.add_flag("--causal", request.causal, "position t sees positions 0..t");
  command.add_option("--repetitions", request.repetitions, "steps a cell, where the budget suffices (default 100)")
      ->check(CLI::Range(1, 1000000));
  command.add_option("--seconds", request.seconds, "budget a cell (default 5)")->check(between(0.01, 1e6));
  command.add_option("--device", request.device, "where it runs (default cpu); reference: slow, obvious loops")
      ->option_text("cpu|cuda|mps|reference");
  command.add_option("--seed", request.seed, "of q, k, v, dy and the order of rounds (default 1)");
  add_output_options(command, options->outputs);
  add_record_outputs(command, options->outputs);
  add_store_option(command, options->store);
  add_shard_options(command, options->shard);
  add_machine_options(command, options->machine);
  command.callback([options, &action] { action = [options] { return run_attention(*options); }; });
}

}  // namespace assay
