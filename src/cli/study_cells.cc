#include "cli/study_cells.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>

#include "base/error.h"
#include "base/nearest.h"
#include "base/paths.h"
#include "cli/cli.h"
#include "hub/hub_name.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

/// A subcommand that can be a cell.
struct CellKind {
  const char* name;
  std::vector<std::string> words;  ///< The command line begins with them.
  void (*add)(CLI::App& program, Action& action);
};

const std::vector<CellKind>& cell_kinds() {
  static const std::vector<CellKind> kinds = {{"accumulate", {"accumulate"}, add_accumulate},
                                              {"attention", {"attention"}, add_attention},
                                              {"autocast", {"autocast"}, add_autocast},
                                              {"bench", {"bench"}, add_bench},
                                              {"compare-training", {"compare-training"}, add_compare_training},
                                              {"memory", {"memory"}, add_memory},
                                              {"profile", {"profile"}, add_profile},
                                              {"sensitivity", {"sensitivity"}, add_sensitivity},
                                              {"train", {"train", "--benchmark"}, add_train_benchmark},
                                              {"training", {"train"}, add_train}};
  return kinds;
}

/// Options that are the study's own affair: what it writes, where it keeps it, what it resumes.
constexpr const char* own_options[] = {"json",  "csv",           "markdown", "latex",    "html",
                                       "store", "resume",        "details",  "machine",  "help",
                                       "shard", "every-machine", "of-grid",  "benchmark"};
/// Options whose words are files to read.
constexpr const char* read_options[] = {"data", "eval", "text-file", "recipe"};
/// Options that may name one.
constexpr const char* possible_paths[] = {"model", "tokens"};

template <typename Names>
bool is_among(const Names& names, const std::string& name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

/// The subcommand of a kind, to be parsed and never run.
struct CellParser {
  explicit CellParser(const CellKind& of) : kind(&of) {
    of.add(program, action);
    command = program.get_subcommands([](const CLI::App*) { return true; }).front();
  }

  CLI::Option* positional() const {
    for (CLI::Option* option : command->get_options()) {
      if (option->get_positional()) return option;
    }
    return nullptr;
  }

  /// Of a key; null where there is none.
  CLI::Option* find(const std::string& key) const {
    if (is_among(own_options, key)) return nullptr;
    return key == "model" ? positional() : command->get_option_no_throw("--" + key);
  }

  std::vector<std::string> keys() const {
    std::vector<std::string> keys;
    if (positional() != nullptr) keys.emplace_back("model");
    for (const CLI::Option* option : command->get_options()) {
      for (const std::string& key : option->get_lnames())
        if (!is_among(own_options, key)) keys.push_back(key);
    }
    return keys;
  }

  const CellKind* kind;
  CLI::App program;
  Action action;
  CLI::App* command = nullptr;
};

const CellKind& kind_of(const StudyFile& study, const StudyCell& cell) {
  std::vector<std::string> names;
  for (const CellKind& kind : cell_kinds()) {
    if (cell.kind == kind.name) return kind;
    names.emplace_back(kind.name);
  }
  fail_study(study, cell.line,
             fmt::format("'{}' is no kind of cell; {} are known{}", cell.kind, fmt::join(names, ", "),
                         did_you_mean(cell.kind, names)));
}

bool is_flag(const CLI::Option& option) {
  return option.get_expected_max() == 0;
}

bool takes_list(const CLI::Option& option) {
  return option.get_delimiter() != '\0' || option.get_expected_max() > 1;
}

void check_form(const StudyFile& study, const StudyCell& cell, const StudyOption& given, const CLI::Option& option) {
  using Form = StudyOption::Form;
  const char* wanted = nullptr;
  if (is_flag(option) && given.form != Form::flag) wanted = "true or false";
  if (!is_flag(option) && given.form == Form::flag) wanted = "a value, not true or false";
  if (!is_flag(option) && given.form == Form::list && !takes_list(option)) wanted = "one value, not a list";
  if (wanted != nullptr)
    fail_study(study, given.line, fmt::format("cell '{}': '{}' must be {}", cell.name, given.key, wanted));
}

/// A word that names a file, from the study's folder on; names of the hub are what they are.
std::string resolved(const StudyFile& study, const StudyOption& given, const CLI::Option& option,
                     const std::string& word) {
  const bool is_output = option.get_type_name() == "FILE" || given.key == "out";
  const bool is_read = is_among(read_options, given.key);
  if (!is_output && (is_hub_name(word) || (!is_read && !is_among(possible_paths, given.key)))) return word;
  const fs::path path = study.folder / word;
  const bool is_path = word.find('/') != std::string::npos || word.ends_with(".gguf");
  if (is_output || is_there(path)) return path.string();
  if (is_read || (given.key == "model" && is_path))
    fail_study(study, given.line, fmt::format("{} '{}': no such file or folder", given.key, path.string()));
  return word;
}

std::vector<std::string> resolved_words(const StudyFile& study, const StudyOption& given, const CLI::Option& option) {
  std::vector<std::string> words;
  for (const std::string& word : given.words) words.push_back(resolved(study, given, option, word));
  return words;
}

const CLI::Option& cell_option(const StudyFile& study, const StudyCell& cell, const StudyOption& given,
                               const CellParser& parser) {
  const CLI::Option* option = parser.find(given.key);
  if (option != nullptr) return *option;
  const std::string why = is_among(own_options, given.key)
                              ? "belongs to the study as a whole"
                              : fmt::format("is no key of {}{}", cell.kind, did_you_mean(given.key, parser.keys()));
  fail_study(study, given.line, fmt::format("cell '{}': '{}' {}", cell.name, given.key, why));
}

CellCommand command_of(const StudyFile& study, const StudyCell& cell, const std::vector<StudyOption>& options,
                       const CellParser& parser, const StudyOverrides& overrides) {
  CellCommand command{.cell = &cell, .words = parser.kind->words};
  const auto add_own = [&](const char* name, const std::string& word) {
    if (!word.empty() && parser.command->get_option_no_throw(name) != nullptr)
      command.words.push_back(std::string(name) + "=" + word);
  };
  add_own("--store", overrides.store);
  add_own("--of-grid", overrides.of_grid);
  for (const StudyOption& given : options) {
    const CLI::Option& option = cell_option(study, cell, given, parser);
    check_form(study, cell, given, option);
    const std::vector<std::string> words = resolved_words(study, given, option);
    if (given.key == "model") {
      command.models = words;
    } else if (given.form != StudyOption::Form::flag) {
      command.words.push_back(fmt::format("--{}={}", given.key, fmt::join(words, ",")));
    } else if (!words.empty()) {
      command.words.push_back("--" + given.key);
    }
  }
  // Before the options: a list's option would take the words behind it for more of its own.
  command.words.insert(command.words.begin() + static_cast<std::ptrdiff_t>(parser.kind->words.size()),
                       command.models.begin(), command.models.end());
  return command;
}

/// The line of the option that an error of the parser is about; the cell's where it names none.
std::int64_t line_of(const std::string& error, const StudyCell& cell, const std::vector<StudyOption>& options) {
  for (const StudyOption& option : options) {
    const std::string name = "--" + option.key;
    const std::size_t at = error.find(name);
    const bool is_whole =
        at != std::string::npos &&
        (at + name.size() == error.size() || std::string(": =").find(error[at + name.size()]) != std::string::npos);
    if (is_whole && option.line > 0) return option.line;
  }
  return cell.line;
}

/// As the program itself will parse them.
void check_words(const StudyFile& study, const CellCommand& command, const std::vector<StudyOption>& options,
                 CellParser& parser) {
  std::vector<std::string> reversed(command.words.rbegin(), command.words.rend());
  try {
    parser.program.parse(std::move(reversed));
  } catch (const CLI::ParseError& error) {
    const StudyCell& cell = *command.cell;
    fail_study(study, line_of(error.what(), cell, options), fmt::format("cell '{}': {}", cell.name, error.what()));
  }
}

/// `more` over what is there.
void put(std::vector<StudyOption>& options, const std::vector<StudyOption>& more, const CellParser* only_known) {
  for (const StudyOption& option : more) {
    if (only_known != nullptr && only_known->find(option.key) == nullptr) continue;
    const auto known =
        std::find_if(options.begin(), options.end(), [&](const StudyOption& other) { return other.key == option.key; });
    known == options.end() ? options.push_back(option) : void(*known = option);
  }
}

bool has_key(const std::vector<StudyOption>& options, const std::string& key) {
  return std::any_of(options.begin(), options.end(), [&](const StudyOption& option) { return option.key == key; });
}

/// A model of one's own is one with weights, where the study has cells that want such.
bool takes_models(const StudyFile& study, const StudyCell& cell) {
  return cell.weights == StudyWeights::real ||
         std::none_of(study.cells.begin(), study.cells.end(),
                      [](const StudyCell& other) { return other.weights == StudyWeights::real; });
}

bool names_data(const StudyFile& study) {
  return std::any_of(study.cells.begin(), study.cells.end(),
                     [](const StudyCell& cell) { return has_key(cell.options, "data"); });
}

/// Beside those that the cell names; where it names none, it has all that are listed.
void add_precisions(std::vector<StudyOption>& options, const std::vector<std::string>& more) {
  if (more.empty()) return;
  auto known =
      std::find_if(options.begin(), options.end(), [](const StudyOption& option) { return option.key == "precision"; });
  if (known == options.end())
    known = options.insert(known, {.key = "precision", .form = StudyOption::Form::list, .words = {"all"}});
  known->form = StudyOption::Form::list;
  known->words.insert(known->words.end(), more.begin(), more.end());
}

std::vector<StudyOption> merged(const StudyFile& study, const StudyCell& cell, StudyLength length,
                                const StudyOverrides& overrides, const CellParser& parser) {
  std::vector<StudyOption> options;
  put(options, study.defaults, &parser);
  put(options, cell.options, nullptr);
  if (length == StudyLength::quick) {
    put(options, study.quick_defaults, &parser);
    put(options, cell.quick, nullptr);
  }
  put(options, overrides.everywhere, &parser);
  if (cell.kind == "bench") add_precisions(options, overrides.verdict);
  const StudyOption models{.key = "model",
                           .form = overrides.models.size() == 1 ? StudyOption::Form::one : StudyOption::Form::list,
                           .words = overrides.models};
  const StudyOption data{.key = "data", .words = {overrides.data}};
  if (!overrides.models.empty() && has_key(options, "model") && takes_models(study, cell))
    put(options, {models}, nullptr);
  if (!overrides.data.empty() && (!names_data(study) || has_key(options, "data"))) put(options, {data}, &parser);
  return options;
}

/// A default that nobody has is a slip.
void check_defaults(const StudyFile& study, const std::vector<StudyOption>& defaults,
                    const std::vector<std::unique_ptr<CellParser>>& parsers) {
  for (const StudyOption& option : defaults) {
    const bool is_known = std::any_of(parsers.begin(), parsers.end(),
                                      [&](const auto& parser) { return parser->find(option.key) != nullptr; });
    if (is_known) continue;
    std::vector<std::string> known;
    for (const auto& parser : parsers) {
      for (const std::string& key : parser->keys()) known.push_back(key);
    }
    fail_study(
        study, option.line,
        fmt::format("defaults: '{}' is no key of any cell's kind{}", option.key, did_you_mean(option.key, known)));
  }
}

}  // namespace

std::vector<StudyOption> options_of_cell(const StudyFile& study, const StudyCell& cell, StudyLength length,
                                         const StudyOverrides& overrides) {
  return merged(study, cell, length, overrides, CellParser(kind_of(study, cell)));
}

std::vector<CellCommand> cell_commands(const StudyFile& study, StudyLength length, const StudyOverrides& overrides) {
  std::vector<CellCommand> commands;
  std::vector<std::unique_ptr<CellParser>> parsers;
  commands.reserve(study.cells.size());
  parsers.reserve(study.cells.size());
  for (const StudyCell& cell : study.cells) {
    parsers.push_back(std::make_unique<CellParser>(kind_of(study, cell)));
    CellParser& parser = *parsers.back();
    // What --quick says is checked in any case: no file is half right.
    for (const StudyOption& option : cell.quick) cell_option(study, cell, option, parser);
    const std::vector<StudyOption> options = merged(study, cell, length, overrides, parser);
    commands.push_back(command_of(study, cell, options, parser, overrides));
    commands.back().models_are_given = !overrides.models.empty();
    commands.back().keeps_records = overrides.store != "none";
    check_words(study, commands.back(), options, parser);
  }
  check_defaults(study, study.defaults, parsers);
  check_defaults(study, study.quick_defaults, parsers);
  return commands;
}

}  // namespace assay
