#include "base/json.h"
#include "base/threads.h"
#include "cli/cli.h"
#include "cli/output_options.h"
#include "cli/outputs.h"
#include "cli/progress.h"
#include "report/draw/figure.h"
#include "studies/probe/run.h"
#include "studies/profile/run.h"
#include "studies/shared/device_facts.h"

namespace assay {
namespace {

struct ProfileCommand {
  ProfileRequest request;
  MachineOptions machine;
  OutputOptions outputs;
  std::filesystem::path trace;
  std::filesystem::path flame;
};

/// What was asked for exists, before anything is measured.
void check_options(const ProfileCommand& options) {
  find_backend(options.request.engine.device);
  find_precision(options.request.precision);
  if (!options.request.against.empty()) find_precision(options.request.against);
  check_extent(open_model(options.request.model, options.request.model_options), options.request.extent);
}

int run_profile(const ProfileCommand& options) {
  check_options(options);
  Progress progress;
  progress.show("probing this machine", 0);
  ProbeOptions probing;
  probing.machine.threads = options.machine.threads;
  probing.machine.max_isa = options.machine.max_isa;
  const MachineFacts facts = facts_on(options.request.engine.device, probe(probing));
  set_threads(facts.threads);
  const ProfileStudy study =
      profile_study(options.request, facts, [&](const std::string& what) { progress.show(what, 0); });
  progress.clear();
  const Document document = to_document(study);
  deliver(document, options.outputs, {},
          {{options.trace, [&] { return trace_json(study).dump() + "\n"; }},
           {options.flame, [&] { return figures_svg(document.figures); }}});
  return 0;
}

}  // namespace

void add_profile(CLI::App& program, Action& action) {
  const auto options = std::make_shared<ProfileCommand>();
  ProfileRequest& request = options->request;
  CLI::App& command = *program.add_subcommand("profile", "Time every operation of a run or of a training step");
  command.footer("example: assay profile gpt2 --precision bf16 --against fp32 --trace trace.json");
  command.add_option("model", request.model, "folder, .gguf file, cached model or preset")->required();
  command.add_option("--precision", request.precision, "one precision (default fp32)");
  command.add_option("--against", request.against, "a second precision: what became faster, and why not the whole");
  add_mode_option(command, request.mode);
  command.add_option("--batch", request.extent.batch, "rows (default 1)")->check(CLI::Range(1, 1 << 20));
  command.add_option("--seq", request.extent.seq, "tokens a row (default 128)")->check(CLI::Range(1, 1 << 20));
  command.add_option("--seconds", request.seconds, "budget a precision (default 5)")->check(between(0.01, 1e6));
  command.add_option("--rounds", request.rounds, "exactly so many rounds")->check(CLI::Range(1, 1000000));
  add_output_file(command, "--trace", options->trace, "write Chrome trace events: opens in Perfetto");
  add_output_file(command, "--flame", options->flame, "draw the time by phase, layer and operation (SVG)");
  add_output_options(command, options->outputs);
  add_engine_options(command, request.engine);
  add_graphs_option(command, request.engine.graphs);
  add_model_options(command, request.model_options);
  add_machine_options(command, options->machine);
  command.callback([options, &action] { action = [options] { return run_profile(*options); }; });
}

}  // namespace assay
