#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <span>
#include <system_error>

#include "base/error.h"
#include "base/file.h"
#include "base/nearest.h"
#include "base/paths.h"
#include "base/streams.h"
#include "base/units.h"
#include "base/write_file.h"
#include "cli/cli.h"
#include "cli/grid_ranks.h"
#include "cli/interrupt.h"
#include "cli/origin.h"
#include "cli/outputs.h"
#include "cli/progress.h"
#include "cli/run_recorder.h"
#include "cli/shard_options.h"
#include "cli/study_cells.h"
#include "cli/verdict_option.h"
#include "hub/scratch.h"
#include "processes/launch.h"
#include "report/text.h"
#include "results/exchange.h"
#include "results/store.h"
#include "rules/verdict.h"
#include "studies/study/examples.h"
#include "text/data_set_name.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

enum class StudyTask : std::uint8_t { run, dry_run, list };

struct StudyCommand {
  std::string study;
  std::vector<std::string> init;  ///< An example's name, and the file that it becomes.
  StudyTask task = StudyTask::run;
  StudyLength length = StudyLength::full;
  std::vector<std::string> models;
  std::string data;
  std::string seconds;
  std::vector<std::string> verdict;
  MachineOptions machine;
  OutputOptions outputs;
  StoreOptions store;
  ShardOptions shard;
  std::string of_grid;  ///< What cells' records say of their grid and shard.
  std::string grid;     ///< The grid alone.
  IndexRange kept;      ///< The cells of this part.
};

std::string names_of_examples() {
  std::vector<std::string> names;
  for (const ExampleStudy& study : example_studies()) names.emplace_back(study.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

const ExampleStudy& example(const std::string& name) {
  if (const ExampleStudy* found = find_example_study(name)) return *found;
  std::vector<std::string> names;
  for (const ExampleStudy& study : example_studies()) names.emplace_back(study.name);
  fail_user("{}: is no file and no study of the program's ({}){}", name, names_of_examples(),
            did_you_mean(name, names));
}

StudyFile read_study(const std::string& name) {
  constexpr std::size_t most_bytes = std::size_t{1} << 20;
  const bool is_file = name.ends_with(".toml") || name.find('/') != std::string::npos || is_there(name);
  if (!is_file) return parse_study(example(name).text(), name);
  StudyFile study = parse_study(read_file(name, most_bytes), name);
  study.folder = fs::absolute(name).parent_path();
  return study;
}

int list_studies() {
  std::string text;
  for (const ExampleStudy& carried : example_studies()) {
    const StudyFile study = parse_study(carried.text(), carried.name);
    text += fmt::format("{:<18}{}, {} cells\n", carried.name, study.title, study.cells.size());
  }
  print(text + "\nassay study NAME runs one, assay study --init NAME copies it into NAME.toml\n");
  return 0;
}

int copy_example(const std::vector<std::string>& words) {
  const ExampleStudy& study = example(words[0]);
  const fs::path file = words.size() > 1 ? words[1] : words[0] + ".toml";
  if (is_there(file)) fail_user("{}: is there already; --init {} FILE names another", file.string(), words[0]);
  write_file_atomically(file, study.text());
  print(fmt::format("{}: a copy of {}; assay study {} runs it\n", file.string(), study.name, file.string()));
  return 0;
}

StudyOption override_of(const std::string& key, const std::string& word) {
  return {.key = key, .words = {word}};
}

std::string absolute_where_there(const std::string& word) {
  return is_there(word) ? fs::absolute(word).string() : word;
}

StudyOverrides overrides_of(const StudyCommand& options) {
  StudyOverrides overrides{.of_grid = options.of_grid, .store = options.store.file};
  for (const std::string& model : options.models) overrides.models.push_back(absolute_where_there(model));
  if (!options.data.empty() && !is_there(find_data(options.data)))
    fail_user("{}: no such file or folder", options.data);
  overrides.data = absolute_where_there(options.data);
  overrides.verdict = options.verdict;
  if (!options.seconds.empty()) overrides.everywhere.push_back(override_of("seconds", options.seconds));
  if (options.machine.threads > 0)
    overrides.everywhere.push_back(override_of("threads", std::to_string(options.machine.threads)));
  if (!options.machine.max_isa.empty()) overrides.everywhere.push_back(override_of("max-isa", options.machine.max_isa));
  return overrides;
}

// ---- what is told ----

std::string shell_text(const std::vector<std::string>& words) {
  return fmt::format("assay {}", fmt::join(words, " "));
}

Document dry_run(const StudyFile& study, const std::vector<CellCommand>& commands, const StudyCommand& options) {
  Document document{.subject = {.schema = "assay-study-plan-1", .title = study.title + ": what would run"}};
  Table table{.key = "cells"};
  table.columns = {{.key = "cell", .role = Table::Role::label},
                   {.key = "most_s", .title = "at most", .unit = "s", .notation = Notation::general, .digits = 6},
                   {.key = "peak_bytes", .title = "memory", .notation = Notation::bytes},
                   {.key = "command"}};
  double seconds = 0;
  for (const CellCommand& command : commands) {
    const CellCost cost =
        expected_cost(command, options_of_cell(study, *command.cell, options.length, overrides_of(options)));
    seconds += cost.most_s;
    add_row(table, {command.cell->name, cost.most_s,
                    cost.peak_bytes > 0 ? Table::Cell(cost.peak_bytes) : Table::Cell(Absent{cost.fault}),
                    shell_text(command.words)});
  }
  document.tables = {std::move(table)};
  document.sentences = {
      {.texts = {fmt::format("{} cells, {:.0f} s of budgets together; probing, loading and scoring come on top.",
                             commands.size(), seconds)}}};
  return document;
}

/// The answers, cut to a screen, and where all the rest went.
std::string screen_text(const Document& answers, const OutputOptions& outputs) {
  constexpr std::size_t most_lines = 41;
  const std::string text = render(answers, ReportFormat::terminal, {.detail = Detail::brief});
  std::string screen;
  std::size_t lines = 0;
  for (std::size_t at = 0; at < text.size() && lines < most_lines; ++lines) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    screen += text.substr(at, end - at) + "\n";
    at = end + 1;
  }
  if (lines == most_lines) screen += "...\n";
  for (const fs::path* file : {&outputs.html, &outputs.markdown, &outputs.latex, &outputs.csv, &outputs.json}) {
    if (!file->empty()) return screen + "\nEverything is in " + terminal_text(file->string()) + "\n";
  }
  return screen + "\n--html FILE writes everything: tables, charts, methods.\n";
}

/// A cell's state words, for who reads while it runs.
void say_parts(const std::vector<StudyPart>& parts, Progress& progress) {
  for (const StudyPart& part : parts) {
    if (part.state == CellState::failed) progress.say(fmt::format("{}: {}", part_name(part), part.reason));
  }
}

int exit_code_of(const std::vector<StudyPart>& parts, bool is_interrupted) {
  if (is_interrupted) return static_cast<int>(ExitCode::interrupted);
  for (const StudyPart& part : parts) {
    if (part.state == CellState::failed)
      return part.exit_code == static_cast<int>(ExitCode::user) ? part.exit_code : static_cast<int>(ExitCode::lacking);
  }
  const bool unsaved = std::any_of(parts.begin(), parts.end(), [](const StudyPart& part) {
    return part.exit_code == static_cast<int>(DoneCode::unsaved);
  });
  return unsaved ? static_cast<int>(DoneCode::unsaved) : 0;
}

/// Where cells' documents are kept: beside the store.
fs::path studies_path(const StoreOptions& store) {
  return fs::absolute(store_file(store)).parent_path() / "studies";
}

/// Makes it: of a study that is refused none is left.
fs::path studies_folder(const StoreOptions& store) {
  const fs::path folder = studies_path(store);
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) fail_user("{}: {}; --store names another place, or none", folder.string(), error.message());
  return folder;
}

void place(std::vector<CellCommand>& commands, const fs::path& folder) {
  for (CellCommand& command : commands) command.kept = folder / (cell_identity(command) + ".json");
}

/// The verdict over all cells stands with the answers.
void add_verdict(const std::vector<std::string>& rows, std::vector<ReportSource>& sources) {
  if (rows.empty()) return;
  Document verdict = verdict_source(rows, std::span(sources).subspan(1)).document;
  Document& answers = sources.front().document;
  std::move(verdict.tables.begin(), verdict.tables.end(), std::back_inserter(answers.tables));
  answers.sentences.insert(answers.sentences.begin(), verdict.sentences.begin(), verdict.sentences.end());
}

void report(const StudyFile& study, std::vector<StudyPart> parts, const StudyCommand& options) {
  const OutputOptions& outputs = options.outputs;
  Document answers = answers_document(study, parts);
  answers.origin = run_origin();
  add_fact(answers.subject.facts, {.key = "date"}, answers.origin->date);
  std::vector<ReportSource> sources = {{"answers", answers}};
  for (StudyPart& part : parts) {
    const bool says = part.document.tells() || !part.document.records.empty();
    if (says) sources.push_back({part_name(part), std::move(part.document)});
  }
  add_verdict(options.verdict, sources);
  const OwnTexts own = {{ReportFormat::terminal, [&] { return screen_text(sources.front().document, outputs); }}};
  deliver(sources, outputs, {.title = study.title}, own);
}

/// Leaves the cells of this part.
void keep_study_part(const IndexRange& kept, std::vector<CellCommand>& commands) {
  std::int64_t number = 0;
  std::erase_if(commands, [&](const CellCommand& /*command*/) { return !kept.holds(number++); });
}

OrderedJson part_json(const StudyPart& part) {
  return {{"label", part.label},     {"state", static_cast<int>(part.state)},
          {"reason", part.reason},   {"exit_code", part.exit_code},
          {"seconds", part.seconds}, {"document", to_json(part.document)}};
}

StudyPart part_from(const OrderedJson& text, const std::string& source) {
  const Json json = Json(text);
  StudyPart part;
  json.at("label").get_to(part.label);
  part.state = static_cast<CellState>(json.at("state").get<int>());
  json.at("reason").get_to(part.reason);
  json.at("exit_code").get_to(part.exit_code);
  json.at("seconds").get_to(part.seconds);
  part.document = document_from_json(json.at("document"), source);
  return part;
}

/// For a grid that another process may tell of: what ran here, and its records by themselves.
void hand_on_parts(const std::vector<StudyPart>& parts, GridPart& all) {
  all.more = OrderedJson::array();
  Document& records = all.document.emplace();
  records.origin = run_origin();
  for (const StudyPart& part : parts) {
    all.more.push_back(part_json(part));
    if (records.machine.empty()) records.machine = part.document.machine;
    records.records.insert(records.records.end(), part.document.records.begin(), part.document.records.end());
  }
}

/// What cells of the grid have kept, for another store.
std::string kept_of(const std::string& grid, const StoreOptions& options) {
  if (!options.is_apart || !is_there(store_file(options))) return "";
  const Store store(store_file(options), Access::read);
  std::vector<StoredRecord> records = store.find({});
  std::erase_if(records, [&](const StoredRecord& stored) { return stored.record.share->grid != grid; });
  return exchange_json(records, store.runs_of(records), run_origin())
      .dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

/// A store that cannot be read costs no result.
void hand_on_kept(const StudyCommand& options, GridPart& all) {
  try {
    all.kept = kept_of(options.grid, options.store);
  } catch (const Error& error) {
    if (error.code() == ExitCode::defect) throw;
    all.sentences.push_back(fmt::format("{}: these results are printed, but not kept", error.what()));
    if (all.code == 0) all.code = static_cast<int>(DoneCode::unsaved);
  }
}

/// Of this part of the study; the store may be another one than was asked for.
std::vector<CellCommand> commands_of(const StudyFile& study, const StudyCommand& options) {
  std::vector<CellCommand> commands = cell_commands(study, options.length, overrides_of(options));
  keep_study_part(options.kept, commands);
  return commands;
}

GridPart measure_study(const StudyFile& study, const StudyCommand& options, std::vector<StudyPart>& parts) {
  const bool keeps = options.store.file != "none";
  std::vector<CellCommand> commands = commands_of(study, options);
  ScratchHandle scratch;
  if (!keeps) scratch = make_scratch(temporary_folder() / "assay-study-");
  place(commands, keeps ? studies_folder(options.store) : scratch.get()->path);
  Progress progress;
  const std::atomic<bool>& interrupted = watch_interrupts();
  StudyProgress telling{[&](const std::string& what, double left) { progress.show(what, left); }, &interrupted};
  const bool is_divided = !options.grid.empty();
  if (is_divided) telling.without = launcher_variables();  // Cells of training are none of its ranks.
  parts = run_study(study, commands, options.store.resumes ? Kept::taken_over : Kept::measured_anew, telling);
  say_parts(parts, progress);
  GridPart all;
  all.code = exit_code_of(parts, interrupted);
  if (is_divided) hand_on_parts(parts, all);
  all.sentences = progress.take();
  if (keeps) hand_on_kept(options, all);
  return all;
}

/// Whether cells were measured by several.
bool have_several_machines(const std::vector<GridPart>& measured) {
  std::set<std::string> hosts;
  for (const GridPart& one : measured) {
    if (!one.more.empty()) hosts.insert(one.host);
  }
  return hosts.size() > 1;
}

/// Of all ranks.
std::vector<StudyPart> parts_of_all(const std::vector<GridPart>& measured, const std::string& source) {
  std::vector<StudyPart> parts;
  const bool names_machines = have_several_machines(measured);
  for (const GridPart& one : measured) {
    for (const OrderedJson& json : one.more) {
      parts.push_back(part_from(json, source));
      if (names_machines) parts.back().machine = one.host;
    }
  }
  return parts;
}

int code_of_all(const std::vector<GridPart>& measured) {
  const auto earned = std::ranges::find_if(measured, [](const GridPart& part) { return part.code != 0; });
  return earned == measured.end() ? 0 : earned->code;
}

int run_study_file(const StudyFile& study, const GridDivision& division, StudyCommand& options) {
  const bool keeps = options.store.file != "none";
  if (options.store.resumes && !keeps) fail_user("--resume: --store none has nothing to resume");
  if (keeps && options.outputs.empty())
    options.outputs.html = studies_path(options.store) / (fs::path(study.source).stem().string() + ".html");
  std::vector<StudyPart> own_parts;
  const auto measure = [&](const StoreOptions& store) {
    StudyCommand own = options;
    own.store = store;
    return measure_study(study, own, own_parts);
  };
  const auto tell_all = [&](const std::vector<GridPart>& parts) {
    if (keeps) studies_folder(options.store);
    report(study, parts.size() == 1 ? std::move(own_parts) : parts_of_all(parts, study.source), options);
    return code_of_all(parts);
  };
  return run_grid({options.shard, division, options.store, options.outputs}, measure, tell_all);
}

int run_study_command(StudyCommand& options) {
  if (options.task == StudyTask::list) return list_studies();
  if (!options.init.empty()) return copy_example(options.init);
  if (options.study.empty()) fail_user("study: a file, or one of {} (assay study --list)", names_of_examples());
  const StudyFile study = read_study(options.study);
  if (!options.verdict.empty()) options.verdict = verdict_rows(options.verdict);
  GridDivision division = division_of(options.shard);
  options.kept = take_part(division, {.cells = static_cast<std::int64_t>(study.cells.size())}).cells;
  options.grid = division.grid;
  if (!division.grid.empty())
    options.of_grid = fmt::format("{} {}", division.shard.empty() ? "-" : division.shard, division.grid);
  if (options.task == StudyTask::run) return run_study_file(study, division, options);
  if (is_idle(options.shard)) return 0;
  deliver(dry_run(study, commands_of(study, options), options), options.outputs);
  return 0;
}

}  // namespace

void add_study(CLI::App& program, Action& action) {
  const auto options = std::make_shared<StudyCommand>();
  CLI::App& command =
      *program.add_subcommand("study", "Run a whole study, a file of cells, questions and expectations, into one page");
  command.footer(
      "examples:\n  assay study inference --quick --html inference.html\n  assay study --init language-model "
      "mine.toml\n"
      "  assay study mine.toml --dry-run\n  assay study mine.toml --resume");
  command.add_option("study", options->study, "a file (TOML), or one of the program's: " + names_of_examples());
  command.add_flag_callback(
      "--list", [options] { options->task = StudyTask::list; }, "the studies that the program has");
  command.add_option("--init", options->init, "copy one of them: NAME [FILE]")->expected(1, 2);
  command.add_flag_callback(
      "--dry-run", [options] { options->task = StudyTask::dry_run; },
      "what would run, its budget and memory; runs nothing");
  command.add_flag_callback(
      "--quick", [options] { options->length = StudyLength::quick; }, "with what the file says under quick");
  command.add_flag("--resume", options->store.resumes,
                   "cells that were run before, in the same way, are not run again");
  command.add_option("--models,--model", options->models, "comma-separated, in place of the file's")->delimiter(',');
  command.add_option("--data", options->data,
                     "text, labelled .tsv or .jsonl, or a folder of .npy arrays, in place of the file's");
  command.add_option("--seconds", options->seconds, "budget of each row, in place of the file's")
      ->check(between(0.01, 1e6));
  add_verdict_option(command, options->verdict);
  add_output_options(command, options->outputs);
  add_store_option(command, options->store);
  add_shard_options(command, options->shard);
  add_machine_options(command, options->machine);
  command.callback([options, &action] { action = [options] { return run_study_command(*options); }; });
}

}  // namespace assay
