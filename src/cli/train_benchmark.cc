#include "studies/train_benchmark/request.h"

#include <algorithm>

#include "base/streams.h"
#include "cli/cli.h"
#include "cli/measuring.h"
#include "cli/meter_options.h"
#include "cli/step_options.h"
#include "report/formats.h"

namespace assay {
namespace {

struct TrainBenchmarkCommand {
  TrainBenchmarkRequest request;
  MachineOptions machine;
  OutputOptions outputs;
  StoreOptions store;
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
  add_model_options(command, request.model_options);
  add_lora_option(command, request.model_options);
  add_size_options(command, request.model_options);
  add_meter_options(command, request.energy);
}

int run_train_benchmark(const TrainBenchmarkCommand& options) {
  Measuring measuring(options.store);
  const Document document = train_benchmark(
      options.request, [&] { return measuring.probe_machine(options.machine, options.request.device); },
      measuring.callbacks());
  measuring.finish();
  deliver(document, options.outputs);
  return measuring.exit_code(document.records);
}

}  // namespace

void add_train_benchmark(CLI::App& program, Action& action) {
  const auto options = std::make_shared<TrainBenchmarkCommand>();
  CLI::App& command = *program.add_subcommand("train", "Time training steps: forward, backward, update");
  command.footer(
      "example: assay train --benchmark cs336-small --precision fp32,mixed-bf16 --batch 4 --seq 128,256 --warmup 5");
  command.add_flag_callback("--benchmark", [] {}, "measure time instead of training");
  add_shape_options(command, options->request);
  add_output_options(command, options->outputs);
  add_store_option(command, options->store);
  add_machine_options(command, options->machine);
  command.callback([options, &action] {
    action = [options] {
      std::vector<std::string> models;
      for (const std::string& list : options->request.models) {
        for (const std::string& model : split(list)) models.push_back(model);
      }
      settle_models(models, options->request.model_options);
      options->request.models = models;
      return run_train_benchmark(*options);
    };
  });
}

}  // namespace assay
