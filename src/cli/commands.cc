#include "cli/commands.h"

#include <string_view>

#include "cli/command_line.h"
#include "cli/other_names.h"

namespace assay {
namespace {

struct CommandRow {
  const char* aim;
  void (*add)(CLI::App& program, Action& action);
};

constexpr const char* first = "What most people need first";
constexpr const char* models = "Models: fetch, run, convert";
constexpr const char* choice = "Which precision, for which part";
constexpr const char* training = "Training";
constexpr const char* causes = "Where time and accuracy go";
constexpr const char* others = "Other programs, and figures of others";
constexpr const char* results = "What was measured before";
constexpr const char* itself = "This program";
constexpr const char* hidden = "";  ///< What our own commands start.

// A new command is a row here; help, completion and the manual read the tree that they make.
constexpr CommandRow commands[] = {
    {first, add_bench},       {first, add_models},      {first, add_explain},
    {first, add_memory},      {first, add_compare},     {models, add_pull},
    {models, add_generate},   {models, add_quantize},   {models, add_dump},
    {models, add_tokenize},   {choice, add_tune},       {choice, add_sensitivity},
    {choice, add_study},      {training, add_train},    {training, add_compare_training},
    {causes, add_profile},    {causes, add_probe},      {causes, add_attention},
    {causes, add_autocast},   {causes, add_accumulate}, {others, add_measure},
    {others, add_peers},      {others, add_check},      {others, add_findings},
    {results, add_report},    {results, add_history},   {results, add_export},
    {results, add_import},    {results, add_fleet},     {results, add_verify},
    {itself, add_completion}, {itself, add_man},        {hidden, add_resident},
};

constexpr const char* ending =
    "assay COMMAND --help lists its options and gives an example; assay man COMMAND is its page of the manual.\n"
    "A first run: assay bench";

/// CLI11 writes a flag that may take a value as "--json{-} FILE".
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_option_name(const CLI::Option* option, bool is_positional) const override {
    std::string name = CLI::Formatter::make_option_name(option, is_positional);
    if (has_value(name)) name.replace(name.size() - mark.size(), mark.size(), "[=FILE]");
    return name;
  }
  std::string make_option_opts(const CLI::Option* option) const override {
    return has_value(option->get_name(false, true)) ? "" : CLI::Formatter::make_option_opts(option);
  }

 private:
  static constexpr std::string_view mark = "{-}";
  static bool has_value(std::string_view name) { return name.ends_with(mark); }
};

CLI::App& newest_command(CLI::App& program) {
  return *program.get_subcommands([](CLI::App*) { return true; }).back();
}

}  // namespace

std::unique_ptr<CLI::App> make_program(Action& action, TrainForm form) {
  auto program = std::make_unique<CLI::App>("Which numeric precision should this model use on this hardware?", "assay");
  program->set_version_flag("--version", "assay " ASSAY_VERSION);
  program->require_subcommand(1);
  program->formatter(std::make_shared<HelpFormatter>());
  program->get_formatter()->column_width(34);
  program->footer(ending);
  for (const CommandRow& row : commands) {
    const bool is_benchmark = row.add == add_train && form == TrainForm::benchmark;
    (is_benchmark ? add_train_benchmark : row.add)(*program, action);
    newest_command(*program).group(row.aim);
  }
  understand_precisions(*program);
  take_words_whole(*program);
  return program;
}

}  // namespace assay
