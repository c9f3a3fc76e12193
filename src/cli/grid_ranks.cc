#include "cli/grid_ranks.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <set>

#include "base/error.h"
#include "base/json.h"
#include "base/streams.h"
#include "cli/cli.h"
#include "cli/deliver.h"
#include "cli/interrupt.h"
#include "cli/origin.h"
#include "cli/ranks.h"
#include "processes/launch.h"
#include "results/exchange.h"
#include "studies/shared/hindrance.h"

namespace assay {
namespace {

/// Whether ranks share the grid: one that another process divides among its own is none of theirs.
bool is_shared(const ShardOptions& shard) {
  const bool is_asked = shard.shard == "auto" || shard.every_machine == EveryMachine::yes;
  return is_asked && shard.of_grid.empty() && can_join_ranks();
}

/// Null where this process measures by itself.
std::unique_ptr<Group> group_for(const ShardOptions& shard) {
  if (!is_shared(shard)) return nullptr;
  try {
    // Others may measure for hours before they have something to say.
    std::unique_ptr<Group> group = launched_group(std::numeric_limits<double>::infinity());
    return group->size() > 1 ? std::move(group) : nullptr;
  } catch (const Error& error) {
    if (error.code() != ExitCode::lacking) throw;
    return nullptr;  // Without it the ranks are processes like others.
  }
}

void tell_sentences(const std::vector<GridPart>& parts) {
  std::set<std::string> told;
  for (const GridPart& part : parts) {
    for (const std::string& sentence : part.sentences) {
      if (told.insert(sentence).second) tell(sentence + "\n");
    }
  }
}

// ---- one of several ranks ----

bool keeps(const StoreOptions& store) {
  return store.file != "none";
}

StoreOptions options_of_rank(StoreOptions store, std::span<const RankPlace> places, int rank) {
  if (!keeps(store)) return store;
  const std::string named = store_file(store).string();
  const std::string its = store_of_rank(places, rank, named);
  if (its == named) return store;
  store.file = its;
  store.is_apart = true;
  return store;
}

/// What a launcher leaves a rank of the machine: Open MPI's binds each to a core unless it is told otherwise.
std::string binding_words() {
  cpu_set_t mine;
  CPU_ZERO(&mine);
  const long all = ::sysconf(_SC_NPROCESSORS_ONLN);
  if (::sched_getaffinity(0, sizeof mine, &mine) != 0 || CPU_COUNT(&mine) >= all) return "";
  return fmt::format("rank 0 may use {} of {} processors; mpirun --bind-to none leaves each rank all of them",
                     CPU_COUNT(&mine), all);
}

std::string turn_words(std::span<const RankPlace> places) {
  const std::vector<int> turns = measuring_turns(places);
  const int most = std::ranges::max(turns) + 1;
  if (most == 1) return "";
  return fmt::format("{} ranks share a machine: they measure one after another, so that none disturbs the others",
                     most);
}

/// Takes over what other machines' ranks have kept. Returns whether all of it is in the store now.
bool take_over_kept(const std::vector<GridPart>& parts, const StoreOptions& options) {
  try {
    for (std::size_t rank = 0; rank < parts.size(); ++rank) {
      if (parts[rank].kept.empty()) continue;
      const std::string source = fmt::format("rank {} on {}", rank, parts[rank].host);
      Store store(store_file(options), Access::write);
      for (const ExchangedRun& run : exchange_from_json(parse_json(parts[rank].kept, source), source))
        store.merge(run.run, run.records, source);
    }
    return true;
  } catch (const Error& error) {
    if (error.code() == ExitCode::defect) throw;
    tell(fmt::format("{}: not all of these results are kept there\n", error.what()));
    return false;
  }
}

void tell_missing(const std::vector<GridPart>& parts, const GridDivision& division) {
  for (const MissingPart& part : missing_parts(parts, division))
    tell(fmt::format("missing: {}{} ({}): {}\n", part.part, part.machine.empty() ? "" : " on " + part.machine, part.why,
                     part.command));
}

bool has_document(const GridPart& part) {
  return part.document.has_value();
}

/// The error of them all, or a line for each that had one.
void tell_failures(const std::vector<GridPart>& parts) {
  const std::vector<std::string> lines = failures_of(parts);
  if (std::ranges::none_of(parts, has_document)) {
    const auto failed = std::ranges::find_if(parts, [](const GridPart& part) { return !part.failure.empty(); });
    for (std::size_t i = 1; i < lines.size(); ++i) complain(lines[i]);
    if (failed != parts.end())
      throw Error(static_cast<ExitCode>(failed->code), lines.size() == 1 ? failed->failure : lines.front());
  }
  for (const std::string& line : lines) complain(line);
}

int tell_of_all(const std::vector<GridPart>& parts, const GridCommand& command, const TellGrid& tell_grid) {
  tell_sentences(parts);
  tell_failures(parts);
  const bool is_kept = take_over_kept(parts, command.store);
  tell_missing(parts, command.division);
  const auto failed = std::ranges::find_if(parts, [](const GridPart& part) { return !part.failure.empty(); });
  const int failure = failed == parts.end() ? 0 : failed->code;
  const int code = tell_grid(parts);
  if (failure != 0 || is_kept) return failure != 0 ? failure : code;
  return code != 0 ? code : static_cast<int>(DoneCode::unsaved);
}

/// What the sentence about a rank that is lost says besides: where all is that was measured.
std::string where_all_is(const std::vector<GridPart>& parts, std::span<const RankPlace> places,
                         const StoreOptions& options) {
  if (!keeps(options)) return "";
  const std::string store = store_file(options).string();
  std::string words;
  if (std::ranges::any_of(parts, has_document)) words += fmt::format("; {} keeps what was measured", store);
  for (const std::string& sentence : kept_elsewhere(places, parts, store)) words += "; " + sentence;
  return words;
}

/// A rank is gone, and the launcher ends the others about a second later: what came before is written at once.
[[noreturn]] void end_with_what_came(const RankLost& lost, const std::vector<GridPart>& parts,
                                     std::span<const RankPlace> places, const GridCommand& command,
                                     const TellGrid& tell_grid) {
  const std::string where = where_all_is(parts, places, command.store);
  if (std::ranges::none_of(parts, has_document)) {
    tell_sentences(parts);
    for (const std::string& line : failures_of(parts)) complain(line);
    throw RankLost(lost.ending, where);
  }
  command.outputs.readers = Readers::none;
  try {
    tell_of_all(parts, command, tell_grid);
  } catch (const Error& error) {
    complain(error.what());
  }
  throw RankLost(lost.ending, where);
}

/// Of a rank whose turn is there; one that was interrupted while it waited has nothing.
GridPart measure_part(const GridCommand& command, const StoreOptions& store, const MeasureGrid& measure,
                      InterruptFlag interrupted) {
  GridPart part;
  if (is_set(interrupted))
    part.code = static_cast<int>(ExitCode::interrupted);
  else if (!is_idle(command.shard))
    part = measure(store);
  if (command.division.part) part.shard = to_text(*command.division.part);
  return part;
}

int run_as_rank(Group& group, const GridCommand& command, const MeasureGrid& measure, const TellGrid& tell_grid) {
  const InterruptFlag interrupted = &watch_interrupts();
  const std::vector<RankPlace> places = meet_for_grid(group, command.division.grid);
  const StoreOptions store = options_of_rank(command.store, places, group.rank());
  std::vector<GridPart> parts;
  try {
    measure_in_turns(
        group, places, [&] { return measure_part(command, store, measure, interrupted); }, parts, interrupted);
  } catch (const RankLost& lost) {
    if (group.rank() > 0) throw;
    end_with_what_came(lost, parts, places, command, tell_grid);
  }
  int code = 0;
  agreed(group, [&] {
    if (group.rank() > 0) return;
    for (const std::string& words : {binding_words(), turn_words(places)}) {
      if (!words.empty()) parts.front().sentences.push_back(words);
    }
    code = tell_of_all(parts, command, tell_grid);
  });
  return code;
}

/// Whether the shards are the ranks: a launcher inside of an array may number them otherwise.
bool are_shards_ranks(Group& group, const std::optional<Shard>& part) {
  const bool is_mine = !part || (part->index == group.rank() + 1 && part->count == group.size());
  const std::vector<char> all = all_gather_values(group, static_cast<char>(is_mine));
  return std::ranges::all_of(all, [](char one) { return one != 0; });
}

int run_alone(const GridCommand& command, const MeasureGrid& measure, const TellGrid& tell_grid) {
  if (is_idle(command.shard)) return 0;
  std::vector<GridPart> parts;
  parts.push_back(measure(command.store));
  tell_sentences(parts);
  return tell_grid(parts);
}

}  // namespace

int run_grid(const GridCommand& command, const MeasureGrid& measure, const TellGrid& tell_grid) {
  const std::unique_ptr<Group> group = group_for(command.shard);
  if (group == nullptr) return run_alone(command, measure, tell_grid);
  return as_rank_of(*group, "a grid in parts", [&](Group& all) {
    if (!are_shards_ranks(all, command.division.part)) return run_alone(command, measure, tell_grid);
    return run_as_rank(all, command, measure, tell_grid);
  });
}

std::vector<Figure> figures_of(const std::vector<ReportSource>& sources) {
  std::vector<Figure> figures;
  for (const ReportSource& source : sources)
    figures.insert(figures.end(), source.document.figures.begin(), source.document.figures.end());
  return figures;
}

void deliver_grid(std::vector<GridPart> parts, const OutputOptions& outputs, const GridTelling& telling) {
  std::vector<ReportSource> sources;
  for (PlacedDocument& one : documents_of(std::move(parts), telling.join))
    sources.push_back({std::move(one.label), std::move(one.document)});
  if (sources.empty()) return;
  if (telling.settle) telling.settle(sources);
  const std::vector<OutputFile> more = telling.more ? telling.more(sources) : std::vector<OutputFile>{};
  if (sources.size() == 1) return deliver(sources.front().document, outputs, {}, more);
  for (ReportSource& source : sources) {
    if (!source.document.origin) source.document.origin = run_origin();
  }
  const OwnTexts own = {
      {ReportFormat::terminal, [&] { return render(sources, ReportFormat::terminal, {.detail = outputs.shown}); }}};
  deliver(sources, outputs, {}, own, more);
}

int grid_code(const std::vector<GridPart>& parts) {
  const auto earned = std::ranges::find_if(parts, [](const GridPart& part) { return part.code != 0; });
  const int code = earned == parts.end() ? 0 : earned->code;
  std::string reason;
  for (const GridPart& part : parts) {
    if (!part.document) continue;
    for (const Record& record : part.document->records) {
      if (is_answer(record.outcome.status)) return code;
      if (reason.empty()) reason = record.outcome.reason.value_or("no reason was given");
    }
  }
  if (reason.empty() || code == static_cast<int>(ExitCode::interrupted)) return code;
  complain(fmt::format("nothing was measured: {}", reason));
  return static_cast<int>(ExitCode::lacking);
}

int cells_code(const std::vector<GridPart>& parts) {
  const auto earned = std::ranges::find_if(parts, [](const GridPart& part) { return part.code != 0; });
  if (earned != parts.end()) return earned->code;
  const auto answers = [](const GridPart& part) { return part.document && !answers_nothing(*part.document); };
  const auto first = std::ranges::find_if(parts, has_document);
  return first == parts.end() || std::ranges::any_of(parts, answers) ? 0 : answered_code(*first->document);
}

}  // namespace assay
