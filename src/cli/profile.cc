#include <algorithm>

#include "base/error.h"
#include "base/json.h"
#include "base/threads.h"
#include "cli/cli.h"
#include "cli/grid_ranks.h"
#include "cli/interrupt.h"
#include "cli/output_options.h"
#include "cli/outputs.h"
#include "cli/progress.h"
#include "cli/shard_options.h"
#include "cli/step_options.h"
#include "report/draw/figure.h"
#include "studies/probe/run.h"
#include "studies/profile/run.h"
#include "studies/shared/device_facts.h"

namespace assay {
namespace {

struct ProfileCommand {
  ProfileGrid grid;
  MachineOptions machine;
  OutputOptions outputs;
  ShardOptions shard;
  std::filesystem::path trace;
  std::filesystem::path flame;
};

/// What was asked for exists, before anything is measured.
void check_options(const ProfileCommand& options) {
  const ProfileRequest& each = options.grid.each;
  find_backend(each.engine.device);
  find_precision(each.precision);
  if (!each.against.empty()) find_precision(each.against);
  for (const std::string& name : options.grid.models) {
    const Model model = open_model(name, each.model_options);
    for (const std::int64_t seq : options.grid.seqs) check_extent(model, {each.extent.batch, seq});
  }
  if (!options.trace.empty() && cells_of(options.grid) > 1)
    fail_user("--trace: holds one run; give one model, one --seq and one way to do a step");
}

MachineFacts profiled_machine(const ProfileCommand& options) {
  ProbeOptions probing;
  probing.machine.threads = options.machine.threads;
  probing.machine.max_isa = options.machine.max_isa;
  const MachineFacts facts = facts_on(options.grid.each.engine.device, probe(probing));
  set_threads(facts.threads);
  return facts;
}

constexpr const char* trace_key = "trace";

/// Of which one part may have a trace: it is of one run.
GridPart measure_profile(ProfileCommand& options) {
  settle_models(options.grid.models, options.grid.each.model_options);
  check_options(options);
  GridDivision division = options.grid.division;
  GridPart part;
  if (profile_part(division, options.grid).is_empty()) {
    part.document = document_without_part(division, "assay-profile-1");
    return part;
  }
  Progress progress;
  progress.show("probing this machine", 0);
  const MachineFacts facts = profiled_machine(options);
  watch_interrupts();
  const std::vector<ProfileStudy> studies = profile_studies(options.grid, facts, [&](const std::string& what) {
    end_if_interrupted("profile");
    progress.show(what, 0);
  });
  part.document = to_document(studies);
  if (!options.trace.empty()) part.more[trace_key] = trace_json(studies.front()).dump() + "\n";
  return part;
}

/// Files of its own, of which a part that holds nothing has none.
std::vector<OutputFile> profile_files(const ProfileCommand& options, const std::vector<GridPart>& parts,
                                      const std::vector<ReportSource>& sources) {
  std::vector<OutputFile> files;
  const auto traced = std::ranges::find_if(parts, [](const GridPart& part) { return part.more.contains(trace_key); });
  if (traced != parts.end())
    files.push_back({options.trace, [&traced = *traced] { return traced.more.at(trace_key).get<std::string>(); }});
  if (!figures_of(sources).empty())
    files.push_back({options.flame, [&sources] { return figures_svg(figures_of(sources)); }});
  return files;
}

int run_profile(ProfileCommand& options) {
  options.grid.division = division_of(options.shard);
  return run_grid(
      {options.shard, options.grid.division, {.file = "none"}, options.outputs},
      [&](const StoreOptions& /*store*/) { return measure_profile(options); },
      [&](const std::vector<GridPart>& parts) {
        GridTelling telling;
        telling.more = [&](const std::vector<ReportSource>& sources) { return profile_files(options, parts, sources); };
        deliver_grid(parts, options.outputs, telling);
        return cells_code(parts);
      });
}

}  // namespace

void add_profile(CLI::App& program, Action& action) {
  const auto options = std::make_shared<ProfileCommand>();
  ProfileGrid& grid = options->grid;
  ProfileRequest& request = grid.each;
  CLI::App& command = *program.add_subcommand("profile", "Time every operation of a run or of a training step");
  command.footer("example: assay profile gpt2 --precision bf16 --against fp32 --trace trace.json");
  command.add_option("model", grid.models, "folders, .gguf files, cached models or presets, comma-separated")
      ->delimiter(',')
      ->required();
  command.add_option("--precision", request.precision, "one precision (default fp32)");
  command.add_option("--against", request.against, "a second precision: what became faster, and why not the whole");
  add_mode_option(command, request.mode);
  add_step_axes(command, grid.step);
  command.add_option("--batch", request.extent.batch, "rows (default 1)")->check(CLI::Range(1, 1 << 20));
  command.add_option("--seq", grid.seqs, "tokens a row, comma-separated (default 128)")
      ->delimiter(',')
      ->check(CLI::Range(1, 1 << 20));
  command.add_option("--seconds", request.seconds, "budget a precision (default 5)")->check(between(0.01, 1e6));
  command.add_option("--rounds", request.rounds, "exactly so many rounds")->check(CLI::Range(1, 1000000));
  add_output_file(command, "--trace", options->trace, "write Chrome trace events: opens in Perfetto");
  add_output_file(command, "--flame", options->flame, "draw the time by phase, layer and operation (SVG)");
  add_output_options(command, options->outputs);
  add_shard_options(command, options->shard);
  add_engine_options(command, request.engine);
  add_graphs_option(command, request.engine.graphs);
  add_model_options(command, request.model_options);
  add_lora_option(command, request.model_options);
  add_size_options(command, request.model_options);
  add_machine_options(command, options->machine);
  command.callback([options, &action, &command] {
    action = [options, &command] {
      ProfileRequest& each = options->grid.each;
      if (each.mode != RunMode::train) refuse_step_axes(command, "--mode infer: says nothing of it; drop it");
      return run_profile(*options);
    };
  });
}

}  // namespace assay
