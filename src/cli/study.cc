#include "studies/study/request.h"

#include "cli/cli.h"
#include "cli/measuring.h"

namespace assay {
namespace {

enum class Study : std::uint8_t { inference, language_model };

struct StudyCommand {
  Study study = Study::inference;
  StudyRequest request;
  MachineOptions machine;
  OutputOptions outputs;
  StoreOptions store;
};

int run_study(const StudyCommand& options) {
  Measuring measuring(options.store);
  const auto facts = [&] { return measuring.probe_machine(options.machine, "cpu"); };
  const auto run = options.study == Study::inference ? study_inference : study_language_model;
  std::vector<ReportSource> sources;
  for (StudyPart& part : run(options.request, facts, measuring.callbacks()))
    sources.push_back({std::move(part.label), std::move(part.document)});
  measuring.finish();
  RenderOptions how;
  how.title = options.study == Study::inference ? "A study of inference" : "A study of training a language model";
  deliver(sources, options.outputs, how);
  return measuring.exit_code();
}

}  // namespace

void add_study(CLI::App& program, Action& action) {
  const auto options = std::make_shared<StudyCommand>();
  CLI::App& command =
      *program.add_subcommand("study", "Run a whole study, as such are published, and report it on one page");
  command.footer(
      "examples:\n  assay study inference --html inference.html\n"
      "  assay study language-model --quick --html training.html");
  static const std::map<std::string, Study> studies = {{"inference", Study::inference},
                                                       {"language-model", Study::language_model}};
  add_choice(command, "study", options->study, studies, "which one")->required();
  StudyRequest& request = options->request;
  command.add_option("--models", request.models, "comma-separated, in place of the study's own")->delimiter(',');
  command.add_option("--data", request.data, "inference: text, labelled .tsv, or a folder of .npy arrays");
  command.add_option("--seconds", request.seconds, "budget of each row (default: by the study)")
      ->check(between(0.01, 1e6));
  command.add_flag_callback(
      "--quick", [&request] { request.length = StudyLength::quick; }, "the smallest of everything, under a minute");
  add_output_options(command, options->outputs);
  add_store_option(command, options->store);
  add_machine_options(command, options->machine);
  command.callback([options, &action] { action = [options] { return run_study(*options); }; });
}

}  // namespace assay
