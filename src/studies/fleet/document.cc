#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/error.h"
#include "base/json.h"
#include "results/identity.h"
#include "results/model_name.h"
#include "studies/fleet/choices.h"
#include "studies/fleet/machines.h"
#include "studies/fleet/outliers.h"
#include "studies/fleet/request.h"

namespace assay {
namespace {

using FleetCell = Table::Cell;
using FleetColumn = Table::Column;

FleetColumn fleet_label(const char* key, const char* title = "") {
  return {.key = key, .title = title, .role = Table::Role::label};
}

// ---- machines ----

FleetCell number_cell(const FleetMachine& machine, const char* key) {
  return or_absent(number_among(*machine.facts, key), "not recorded");
}

std::int64_t runs_of(const FleetMachine& machine) {
  std::set<std::size_t> runs;
  for (const FleetRecord& one : machine.records) runs.insert(one.run);
  return static_cast<std::int64_t>(runs.size());
}

Table machines_table(const Fleet& fleet) {
  const std::vector<ColumnOf<FleetMachine>> columns = {
      {fleet_label("machine"), [](const FleetMachine& m) -> FleetCell { return m.label; }},
      {fleet_label("kind"), [](const FleetMachine& m) -> FleetCell { return m.kind; }},
      {{.key = "host_id", .detail = Detail::data}, [](const FleetMachine& m) { return text_or_absent(m.host_id); }},
      {{.key = "memory_bytes", .title = "memory", .unit = "bytes", .notation = Notation::bytes},
       [](const FleetMachine& m) { return number_cell(m, "memory_bytes"); }},
      {{.key = "bandwidth_gbs", .title = "reads it at", .unit = "GB/s"},
       [](const FleetMachine& m) { return number_cell(m, "bandwidth_gbs"); }},
      {{.key = "frequency_mhz", .title = "clock", .unit = "MHz"},
       [](const FleetMachine& m) { return number_cell(m, "frequency_mhz"); }},
      {{.key = "instruction_sets", .title = "instructions", .detail = Detail::details},
       [](const FleetMachine& m) -> FleetCell { return texts_among(*m.facts, "instruction_sets"); }},
      {{.key = "runs", .notation = Notation::count}, [](const FleetMachine& m) -> FleetCell { return runs_of(m); }},
      {{.key = "records", .notation = Notation::count},
       [](const FleetMachine& m) -> FleetCell { return static_cast<std::int64_t>(m.records.size()); }}};
  return filled({.key = "machines", .caption = "Machines"}, columns, fleet.machines);
}

// ---- best precision ----

/// "int8", where batches compete "int8 at batch 8".
std::string choice_words(const Record& row, bool over_batches) {
  return over_batches ? fmt::format("{} at batch {}", row.setting.precision, row.setting.batch) : row.setting.precision;
}

std::vector<std::string> choice_words(const std::vector<const Record*>& rows, bool over_batches) {
  std::vector<std::string> words;
  words.reserve(rows.size());
  for (const Record* row : rows) words.push_back(choice_words(*row, over_batches));
  return words;
}

/// What a cell is, without the batch where batches compete and without threads and device that the whole has anyway.
std::string fleet_cell_words(const AnsweredCell& cell) {
  if (!cell.over_batches) return conditions_words(*cell.any, Level::cell);
  return fmt::format("{}, {} tokens, over batches", conditions_words(*cell.any, Level::title), cell.any->setting.seq);
}

/// A line of the table by machine.
struct GroupAnswer {
  const ChoosingGroup* group;
  const AnsweredCell* cell;
  const AimAnswer* answer;
};

std::vector<GroupAnswer> all_answers(const std::vector<ChoosingGroup>& groups) {
  std::vector<GroupAnswer> all;
  for (const ChoosingGroup& group : groups) {
    for (const AnsweredCell& cell : group.cells) {
      for (const AimAnswer& answer : cell.answers) all.push_back({&group, &cell, &answer});
    }
  }
  return all;
}

Table by_machine_table(const std::vector<GroupAnswer>& answers) {
  constexpr std::size_t most_brief = 24;
  const std::vector<ColumnOf<GroupAnswer>> columns = {
      {fleet_label("machine"), [](const GroupAnswer& a) -> FleetCell { return a.group->label; }},
      {fleet_label("model"),
       [](const GroupAnswer& a) -> FleetCell { return shown_model_name(a.cell->any->setting.model); }},
      {fleet_label("of"), [](const GroupAnswer& a) -> FleetCell { return fleet_cell_words(*a.cell); }},
      {fleet_label("aim"), [](const GroupAnswer& a) -> FleetCell { return a.answer->aim; }},
      {{.key = "best"},
       [](const GroupAnswer& a) -> FleetCell {
         if (a.answer->best == nullptr) return Absent{a.answer->reason};
         return choice_words(*a.answer->best, a.cell->over_batches);
       }},
      {{.key = "figure", .more_keys = {"figure_low", "figure_high"}},
       [](const GroupAnswer& a) -> FleetCell { return a.answer->figure; }},
      {{.key = "unit"}, [](const GroupAnswer& a) -> FleetCell { return a.answer->unit; }},
      {{.key = "as_good", .title = "as good"},
       [](const GroupAnswer& a) -> FleetCell { return choice_words(a.answer->as_good, a.cell->over_batches); }},
      {{.key = "not_told", .title = "not told from it"},
       [](const GroupAnswer& a) -> FleetCell { return choice_words(a.answer->not_told, a.cell->over_batches); }}};
  return filled({.key = "by_machine",
                 .caption = "The best precision of each machine for each aim",
                 .detail = answers.size() <= most_brief ? Detail::brief : Detail::details},
                columns, answers);
}

/// Machines that made one choice.
struct SharedChoice {
  GroupAnswer first;
  std::vector<std::string> machines = {};
};

std::vector<SharedChoice> shared_choices(const std::vector<GroupAnswer>& answers) {
  std::map<std::vector<std::string>, SharedChoice> by_words;
  for (const GroupAnswer& one : answers) {
    if (one.answer->best == nullptr) continue;
    const std::vector<std::string> words = {one.cell->any->setting.model, fleet_cell_words(*one.cell), one.answer->aim,
                                            choice_words(*one.answer->best, one.cell->over_batches)};
    by_words.try_emplace(words, SharedChoice{one}).first->second.machines.push_back(one.group->label);
  }
  std::vector<SharedChoice> all;
  all.reserve(by_words.size());
  for (auto& [words, choice] : by_words) all.push_back(std::move(choice));
  return all;
}

std::string fleet_loss_words(const MostLoss& most) {
  std::string words = fmt::format("KL from its baseline at most {}", most.kl);
  if (most.perplexity) words += fmt::format(", perplexity up by {:.2g} % at most", 100 * *most.perplexity);
  if (most.accuracy) words += fmt::format(", accuracy down by {:.2g} points at most", 100 * *most.accuracy);
  return words + (most.counts_unmeasured ? "; where that was not measured, it is let pass" : "");
}

Table choices_table(const std::vector<GroupAnswer>& answers, const MostLoss& most) {
  const std::vector<ColumnOf<SharedChoice>> columns = {
      {fleet_label("model"),
       [](const SharedChoice& c) -> FleetCell { return shown_model_name(c.first.cell->any->setting.model); }},
      {fleet_label("of"), [](const SharedChoice& c) -> FleetCell { return fleet_cell_words(*c.first.cell); }},
      {fleet_label("aim"), [](const SharedChoice& c) -> FleetCell { return c.first.answer->aim; }},
      {{.key = "best"},
       [](const SharedChoice& c) -> FleetCell {
         return choice_words(*c.first.answer->best, c.first.cell->over_batches);
       }},
      {{.key = "count", .title = "on", .notation = Notation::count},
       [](const SharedChoice& c) -> FleetCell { return static_cast<std::int64_t>(c.machines.size()); }},
      {{.key = "machines"}, [](const SharedChoice& c) -> FleetCell { return c.machines; }}};
  return filled({.key = "choices",
                 .caption = "Which precision where",
                 .legend = fmt::format("Of precisions with {}.", fleet_loss_words(most))},
                columns, shared_choices(answers));
}

// ---- disagreements ----

Table disagreements_table(const std::vector<Disagreement>& all) {
  const std::vector<ColumnOf<Disagreement>> columns = {
      {fleet_label("model"),
       [](const Disagreement& d) -> FleetCell { return shown_model_name(d.cell->any->setting.model); }},
      {fleet_label("of"), [](const Disagreement& d) -> FleetCell { return fleet_cell_words(*d.cell); }},
      {fleet_label("aim"), [](const Disagreement& d) -> FleetCell { return d.aim; }},
      {fleet_label("machine"), [](const Disagreement& d) -> FleetCell { return d.group->label; }},
      {{.key = "best"}, [](const Disagreement& d) -> FleetCell { return choice_words(*d.best, d.cell->over_batches); }},
      {fleet_label("other_machine", "other machine"),
       [](const Disagreement& d) -> FleetCell { return d.other->label; }},
      {{.key = "other_best", .title = "its best"},
       [](const Disagreement& d) -> FleetCell { return choice_words(*d.other_best, d.cell->over_batches); }},
      {{.key = "why"}, [](const Disagreement& d) -> FleetCell { return d.why; }}};
  return filled({.key = "disagreements",
                 .caption = "Where machines disagree, and what was recorded that may be why",
                 .legend = "Neither takes the other's choice for as good as its own, by the intervals."},
                columns, all);
}

// ---- slow machines ----

const char* standing_words(const MachineStanding& standing) {
  if (!standing.stands_apart) return "as the others";
  return standing.time_ratio > 1 ? "slower" : "faster";
}

std::vector<MachineStanding> all_standings(const std::vector<FleetKind>& kinds) {
  std::vector<MachineStanding> all;
  for (const FleetKind& kind : kinds) all.insert(all.end(), kind.standings.begin(), kind.standings.end());
  return all;
}

Table standings_table(const std::vector<MachineStanding>& standings, const FleetRequest& request) {
  const auto ratio = [](const char* key, const char* title) {
    return FleetColumn{.key = key, .title = title, .notation = Notation::fixed, .digits = 3};
  };
  FleetColumn middle = ratio("time_ratio", "time over the others'");
  middle.more_keys = {"time_ratio_low", "time_ratio_high"};
  const std::vector<ColumnOf<MachineStanding>> columns = {
      {fleet_label("machine"), [](const MachineStanding& s) -> FleetCell { return s.machine->label; }},
      {fleet_label("kind"), [](const MachineStanding& s) -> FleetCell { return s.machine->kind; }},
      {{.key = "stands"}, [](const MachineStanding& s) -> FleetCell { return standing_words(s); }},
      {middle, [](const MachineStanding& s) -> FleetCell { return Estimate{s.time_ratio, s.low, s.high}; }},
      {{.key = "p", .notation = Notation::general, .digits = 2},
       [](const MachineStanding& s) -> FleetCell { return s.p; }},
      {{.key = "cells", .notation = Notation::count},
       [](const MachineStanding& s) -> FleetCell { return static_cast<std::int64_t>(s.cells); }},
      {ratio("least_ratio", "least of a cell"), [](const MachineStanding& s) -> FleetCell { return s.least_ratio; }},
      {ratio("most_ratio", "most"), [](const MachineStanding& s) -> FleetCell { return s.most_ratio; }},
      {{.key = "evidence"}, [](const MachineStanding& s) -> FleetCell { return s.evidence; }}};
  return filled({.key = "standings",
                 .caption = "Machines beside the others of their kind",
                 .legend = fmt::format("Each paired with the others cell by cell; the middle over cells, beside what "
                                       "machines of the kind differ by. "
                                       "Intervals and p are corrected for the number of machines (Bonferroni). slower, "
                                       "faster: the interval is clear "
                                       "of 1, the test of extreme deviates (Rosner 1983) agrees, and it is more than "
                                       "{:.1f} %. The chance that any of "
                                       "alike machines is called so is {:.0f} %.",
                                       100 * request.margin, 100 * request.level)},
                columns, standings);
}

Table kinds_table(const std::vector<FleetKind>& kinds) {
  const std::vector<ColumnOf<FleetKind>> columns = {
      {fleet_label("kind"), [](const FleetKind& k) -> FleetCell { return k.kind; }},
      {{.key = "machines", .notation = Notation::count},
       [](const FleetKind& k) -> FleetCell { return static_cast<std::int64_t>(k.machines.size()); }},
      {{.key = "spread",
        .title = "they differ by",
        .meaning = "standard deviation of log time",
        .notation = Notation::percent,
        .digits = 1},
       [](const FleetKind& k) -> FleetCell {
         return k.untested.empty() ? FleetCell(k.spread) : FleetCell(Absent{k.untested});
       }},
      {{.key = "untested", .title = "not compared, since"},
       [](const FleetKind& k) { return text_or_absent(k.untested); }}};
  return filled({.key = "kinds", .caption = "Kinds of machines"}, columns, kinds);
}

Figure standings_figure(const std::vector<MachineStanding>& standings) {
  Figure figure{.kind = FigureKind::dots,
                .key = "standings",
                .caption = "Time over that of the others of the kind",
                .legend = "With intervals corrected for the number of machines; hollow: it does not stand apart."};
  figure.x = {.title = "time over the others'", .unit = ""};
  Figure::Series series{.name = "machine"};
  for (const MachineStanding& standing : standings) {
    series.points.push_back({.x = standing.time_ratio,
                             .y = static_cast<double>(figure.y.categories.size()),
                             .low = standing.low,
                             .high = standing.high,
                             .is_hollow = !standing.stands_apart});
    figure.y.categories.push_back(standing.machine->label);
  }
  if (standings.empty()) figure.reason = "no kind has three machines with a cell in common";
  figure.series = {std::move(series)};
  return figure;
}

// ---- missing ----

Table missing_table(const std::vector<MissingPart>& missing) {
  const std::vector<ColumnOf<MissingPart>> columns = {
      {fleet_label("part"), [](const MissingPart& m) -> FleetCell { return m.part; }},
      {{.key = "machine", .title = "on"},
       [](const MissingPart& m) -> FleetCell {
         return m.machine.empty() ? FleetCell(Absent{"anywhere"}) : FleetCell(m.machine);
       }},
      {{.key = "why"}, [](const MissingPart& m) -> FleetCell { return m.why; }},
      {{.key = "command"}, [](const MissingPart& m) -> FleetCell { return m.command; }},
      {{.key = "grid", .detail = Detail::data}, [](const MissingPart& m) -> FleetCell { return m.grid; }}};
  return filled({.key = "missing", .caption = "What is missing, and what measures it"}, columns, missing);
}

// ---- the page ----

std::string standing_sentence(const MachineStanding& standing) {
  std::string text =
      fmt::format("{} is {}: {:.2f} times the time of the others of its kind [{:.2f}, {:.2f}], over {} cell{}",
                  standing.machine->label, standing_words(standing), standing.time_ratio, standing.low, standing.high,
                  standing.cells, standing.cells == 1 ? "" : "s");
  if (standing.evidence.empty()) return text + "; nothing that was recorded tells why.";
  return text + fmt::format(". Recorded: {}.", fmt::join(standing.evidence, "; "));
}

std::vector<std::string> findings_of(const Fleet& fleet) {
  std::size_t impossible = 0;
  std::size_t altered = 0;
  for (const FleetRun& run : fleet.runs) {
    for (const Record& record : run.records) {
      impossible += record.outcome.status == Status::impossible ? 1 : 0;
      altered += is_altered(record) ? 1 : 0;
    }
  }
  std::vector<std::string> texts;
  if (impossible > 0)
    texts.push_back(fmt::format("{} records are impossible by the rules and choose nothing.", impossible));
  if (altered > 0)
    texts.push_back(fmt::format("{} records were changed after they were written; assay verify names them.", altered));
  return texts;
}

std::vector<std::string> summary(const Fleet& fleet, const std::vector<MachineStanding>& standings,
                                 const std::vector<Disagreement>& disagreed, const std::vector<MissingPart>& missing) {
  std::vector<std::string> texts;
  for (const MachineStanding& standing : standings) {
    if (standing.stands_apart) texts.push_back(standing_sentence(standing));
  }
  if (texts.empty() && !standings.empty())
    texts.push_back(fmt::format("None of {} machines stands apart from the others of its kind.", standings.size()));
  if (!disagreed.empty())
    texts.push_back(fmt::format("Machines disagree {} times on the best precision.", disagreed.size()));
  if (!missing.empty())
    texts.push_back(
        fmt::format("{} parts of divided grids are missing; the first: {}", missing.size(), missing.front().command));
  const std::vector<std::string> found = findings_of(fleet);
  texts.insert(texts.end(), found.begin(), found.end());
  return texts;
}

Table fleet_facts(const Fleet& fleet) {
  Table facts = Document{}.subject.facts;
  std::size_t records = 0;
  for (const FleetMachine& machine : fleet.machines) records += machine.records.size();
  const auto count = [&](const char* key, const char* title, std::size_t value) {
    add_fact(facts, {.key = key, .title = title, .notation = Notation::count}, static_cast<std::int64_t>(value));
  };
  count("run_count", "runs", fleet.runs.size());
  count("record_count", "records", records);
  count("repeated", "came again", fleet.repeated);
  return facts;
}

Table fleet_methods(const FleetRequest& request) {
  Table methods = Document{}.methods;
  const auto fact = [&](const char* key, const char* title, FleetCell value) {
    add_fact(methods, {.key = key, .title = title, .notation = Notation::exact, .detail = Detail::details},
             std::move(value));
  };
  fact("most_kl", "most KL of a choice", request.most_loss.kl);
  fact("margin", "least share by which a machine stands apart", request.margin);
  fact("level", "chance that any of alike machines does", request.level);
  return methods;
}

/// Tables that have rows.
std::vector<Table> with_rows(std::vector<Table> tables) {
  std::erase_if(tables, [](const Table& table) { return table.rows.empty(); });
  return tables;
}

}  // namespace

Document fleet_report(std::vector<ExchangedRun> runs, const FleetRequest& request) {
  const Fleet fleet = fleet_of(std::move(runs));
  if (fleet.machines.empty()) fail_user("fleet report: there is no record in what was given");
  const std::vector<ChoosingGroup> groups = choosing_groups(fleet, request.most_loss);
  const std::vector<GroupAnswer> answers = all_answers(groups);
  const std::vector<Disagreement> disagreed = disagreements(groups);
  const std::vector<FleetKind> kinds = fleet_kinds(fleet, request);
  const std::vector<MachineStanding> standings = all_standings(kinds);
  const std::vector<MissingPart> missing = missing_parts(fleet);
  return {.subject = {.schema = "assay-fleet-1",
                      .title = fmt::format("{} machines of {} kinds", fleet.machines.size(), kinds.size()),
                      .facts = fleet_facts(fleet)},
          .tables = with_rows({choices_table(answers, request.most_loss), by_machine_table(answers),
                               disagreements_table(disagreed), standings_table(standings, request), kinds_table(kinds),
                               machines_table(fleet), missing_table(missing)}),
          .figures = {standings_figure(standings)},
          .sentences = {{.texts = summary(fleet, standings, disagreed, missing)}},
          .methods = fleet_methods(request)};
}

}  // namespace assay
