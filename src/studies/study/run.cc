#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <system_error>

#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/json.h"
#include "hardware/machine.h"
#include "hub/models.h"
#include "measure/child.h"
#include "results/read_records.h"
#include "rules/rules.h"
#include "studies/study/request.h"
#include "studies/study/warm_up.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr const char* this_program = "/proc/self/exe";

/// Of a model with weights its folder or file; empty for any other word.
std::string place_of(const std::string& word) {
  try {
    const auto local = word.empty() ? std::nullopt : find_local(word);
    return local ? local->string() : "";
  } catch (const Error&) {
    return "";
  }
}

/// Models of the cell that have no weights where it asks for real ones; what cannot be found is told by who opens it.
std::vector<std::string> lacking_weights(const CellCommand& command) {
  std::vector<std::string> lacking;
  if (command.cell->weights == StudyWeights::any || command.models_are_given) return lacking;
  for (const std::string& model : command.models) {
    if (place_of(model).empty()) lacking.push_back(model);
  }
  return lacking;
}

std::string lacking_words(const std::vector<std::string>& models) {
  return models.empty()
             ? ""
             : fmt::format("no weights of {} are here: --model names a folder, assay models what can be pulled",
                           fmt::join(models, ", "));
}

/// The last line of what a child said that is an error's.
std::string error_line(const ChildRun& run) {
  constexpr std::string_view begin = "assay: ";
  const std::string& text = run.output_end;
  const std::size_t at = text.rfind('\n' + std::string(begin));
  const std::size_t first = at == std::string::npos ? (text.starts_with(begin) ? 0 : std::string::npos) : at + 1;
  if (first == std::string::npos)
    return run.signal != 0 ? fmt::format("ended by signal {}", run.signal) : fmt::format("exit code {}", run.exit_code);
  const std::size_t from = first + begin.size();
  return text.substr(from, text.find('\n', from) - from);
}

/// Of a kind whose interrupted runs leave a document that the next one goes on from.
bool goes_on_from_part(const CellCommand& command) {
  return command.cell->kind == "sensitivity";
}

fs::path part_file(const CellCommand& command) {
  return command.kept.string() + ".part";
}

/// A warm-up study's rows say more together than alone.
Document told(Document document) {
  const std::vector<Record>& records = document.records;
  const bool varies = std::any_of(records.begin(), records.end(), [&](const Record& record) {
    return record.setting.warmup_steps != records.front().setting.warmup_steps;
  });
  if (!varies || document.tells()) return document;
  std::vector<Finding> others = std::move(document.findings);
  Document warm_up = warm_up_document({}, std::move(document.records));
  warm_up.findings.insert(warm_up.findings.begin(), others.begin(), others.end());
  warm_up.machine = std::move(document.machine);
  warm_up.origin = std::move(document.origin);
  return warm_up;
}

void read_kept(const CellCommand& command, StudyPart& part) {
  part.document = told(believed(read_records(command.kept.string(), {}).document));
}

bool is_kept(const fs::path& file) {
  std::error_code unknown;
  return fs::is_regular_file(file, unknown);
}

class StudyRun {
 public:
  StudyRun(const StudyFile& study, std::span<const CellCommand> cells, Kept kept, const StudyProgress& progress)
      : study_(study), cells_(cells), kept_(kept), progress_(progress) {}

  std::vector<StudyPart> run() {
    std::vector<StudyPart> parts;
    parts.reserve(cells_.size());
    for (const CellCommand& command : cells_) {
      number_ = parts.size() + 1;
      parts.push_back(part_of(command));
    }
    return parts;
  }

 private:
  std::string reason_to_skip(const CellCommand& command) const {
    if (is_set(progress_.interrupted)) return "interrupted before it began; --resume goes on";
    if (study_.budget_s > 0 && now_s() - begin_s_ > study_.budget_s)
      return fmt::format("the study's budget of {:g} s was spent; --resume goes on", study_.budget_s);
    const std::vector<std::string> lacking = lacking_weights(command);
    return !lacking.empty() && lacking.size() == command.models.size() ? lacking_words(lacking) : "";
  }

  StudyPart part_of(const CellCommand& command) {
    StudyPart part{.label = command.cell->name};
    if (kept_ == Kept::taken_over && is_kept(command.kept)) {
      part.state = CellState::taken_over;
      read_kept(command, part);
      return part;
    }
    part.reason = reason_to_skip(command);
    part.state = CellState::skipped;
    if (part.reason.empty()) measure(command, part);
    return part;
  }

  void measure(const CellCommand& command, StudyPart& part) {
    std::error_code ignored;
    fs::remove(command.kept, ignored);
    part.reason = lacking_words(lacking_weights(command));
    const ChildRun run = run_child(child_of(command), options_of(command));
    part.seconds = run.wall_s;
    part.exit_code = run.exit_code;
    part.state = CellState::measured;
    const bool is_whole = run.signal == 0 && run.exit_code != static_cast<int>(ExitCode::interrupted);
    if (is_kept(command.kept)) {
      read_kept(command, part);
      if (!is_whole) part.reason = "interrupted with a part of it; --resume goes on";
    } else {
      part.state = CellState::failed;
      part.reason = run.was_interrupted ? "interrupted; --resume goes on" : error_line(run);
    }
    if (is_whole) {
      fs::remove(part_file(command), ignored);
    } else if (goes_on_from_part(command) && is_kept(command.kept)) {
      fs::rename(command.kept, part_file(command), ignored);
    } else {
      fs::remove(command.kept, ignored);
    }
  }

  /// A bench that was cut off goes on with the rows that the store has, others with the document that they left.
  ChildCommand child_of(const CellCommand& command) const {
    const std::vector<std::string> lacking = lacking_weights(command);
    ChildCommand child{.words = {this_program}, .text = ""};
    std::copy_if(command.words.begin(), command.words.end(), std::back_inserter(child.words),
                 [&](const auto& word) { return std::find(lacking.begin(), lacking.end(), word) == lacking.end(); });
    child.words.push_back("--json=" + command.kept.string());
    if (kept_ == Kept::taken_over && command.cell->kind == "bench" && command.keeps_records)
      child.words.push_back("--resume");
    if (kept_ == Kept::taken_over && goes_on_from_part(command) && is_kept(part_file(command)))
      child.words.push_back("--resume=" + part_file(command).string());
    return child;
  }

  ChildOptions options_of(const CellCommand& command) const {
    ChildOptions options;
    options.interrupted = progress_.interrupted;
    options.tick_s = 0.5;
    options.without = progress_.without;
    options.grace_s = 20;  // A cell ends with what it has once the pass that it is in has ended.
    const double begin_s = now_s();
    options.on_tick = [this, &command, begin_s] {
      progress_.show(fmt::format("{} of {}: {} ({}), {:.0f} s", number_, cells_.size(), command.cell->name,
                                 command.cell->kind, now_s() - begin_s),
                     0);
    };
    return options;
  }

  const StudyFile& study_;
  std::span<const CellCommand> cells_;
  Kept kept_;
  const StudyProgress& progress_;
  double begin_s_ = now_s();
  std::size_t number_ = 0;
};

/// What a word names as a file or folder: size and time of change of it and of what lies in it.
void add_stamps(const std::string& word, OrderedJson& stamps) {
  std::error_code unknown;
  const fs::path path = word.substr(word.find('=') + 1);
  const auto add = [&](const fs::path& file) {
    const auto size = fs::file_size(file, unknown);
    if (unknown) return;
    const auto changed = fs::last_write_time(file, unknown).time_since_epoch().count();
    stamps.push_back({fs::absolute(file, unknown).string(), size, static_cast<std::int64_t>(changed)});
  };
  if (fs::is_regular_file(path, unknown)) return add(path);
  std::vector<fs::path> files;
  for (fs::directory_iterator at(path, unknown), end; !unknown && at != end; at.increment(unknown))
    if (at->is_regular_file(unknown)) files.push_back(at->path());
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) add(file);
}

}  // namespace

const char* name(CellState state) {
  constexpr const char* names[] = {"measured", "taken over", "skipped", "failed"};
  return names[static_cast<std::size_t>(state)];
}

std::string cell_identity(const CellCommand& cell) {
  static const std::string program = sha256_file(this_program);
  static const MachineFacts machine = read_machine_facts();
  OrderedJson stamps = OrderedJson::array();
  for (const std::string& word : cell.words) {
    const bool is_model = std::find(cell.models.begin(), cell.models.end(), word) != cell.models.end();
    add_stamps(is_model ? place_of(word) : word, stamps);
  }
  const OrderedJson identity = {{"program", program},
                                {"machine", {machine.processor, machine.cores, machine.memory_bytes, machine.cap}},
                                {"words", cell.words},
                                {"files", stamps}};
  const std::string text = identity.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
  return sha256_hex(std::as_bytes(std::span(text.data(), text.size()))).substr(0, 32);
}

std::vector<StudyPart> run_study(const StudyFile& study, std::span<const CellCommand> cells, Kept kept,
                                 const StudyProgress& progress) {
  return StudyRun(study, cells, kept, progress).run();
}

}  // namespace assay
