#include "report/records/results_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/units.h"
#include "report/mode_words.h"
#include "report/record_titles.h"
#include "report/records/energy_cells.h"
#include "results/identity.h"
#include "statistics/statistics.h"

namespace assay {
namespace {

using Shown = ColumnOf<ShownRecord>;
using Cell = Table::Cell;

constexpr auto label = Table::Role::label;

Cell megabytes(const std::optional<std::int64_t>& bytes) {
  return bytes ? Cell(static_cast<double>(*bytes) / 1e6) : Cell(Absent{});
}

Cell estimate(const std::optional<double>& value, const std::optional<double>& low, const std::optional<double>& high) {
  if (!value) return Absent{};
  if (!low || !high) return *value;
  if (leaves_no_figure(*value, {*low, *high}))
    return Absent{fmt::format("its 95 % interval, {} to {}, is as wide as ±100 % of the median or wider: no figure",
                              format_significant(*low), format_significant(*high))};
  return Estimate{*value, *low, *high};
}

/// "47.0 ± 1.5".
Cell with_deviation(const std::optional<double>& mean, const std::optional<double>& deviation) {
  if (!mean || !deviation) return or_absent(mean);
  return Estimate{*mean, *mean - *deviation, *mean + *deviation};
}

/// A log beyond 709 is finite, and its exponential is not.
Cell perplexity(const Record& record) {
  if (record.quality->perplexity) return *record.quality->perplexity;
  if (record.quality->log_perplexity && !record.quality->accuracy)
    return fmt::format("e^{:.0f}", *record.quality->log_perplexity);
  return record.quality->quality_status.state == QualityState::random_weights ? Cell("random") : Cell(Absent{});
}

/// 1 only where it is 1: what lies just below must not read as full.
std::optional<double> below_full(const std::optional<double>& share, double unit) {
  if (!share || *share == 1) return share;
  return std::trunc(*share / unit) * unit;
}

/// The unit stands in the title: a table of many columns has no room for it in every cell.
Cell percent(const std::optional<double>& share) {
  return share ? Cell(100 * *share) : Cell(Absent{});
}

/// "native bf16", "native f16/f16": the accumulator where it is not the widest of its kind.
Cell ran(const Record& record) {
  const LedgerRow* row = dominant_row(record.evidence.ledger);
  if (row == nullptr) return Absent{};
  const std::string text = fmt::format("{} {}", name(row->verdict), name(row->operand));
  return size_of(row->accumulator) < 4 ? text + "/" + name(row->accumulator) : text;
}

/// Of the data, where an interrupt left a part of it unscored.
Cell scored_share(const Record& record) {
  const std::optional<ScoredPart> part = scored_part(record.quality->quality_status);
  return part ? Cell(100 * static_cast<double>(part->tokens) / static_cast<double>(part->of)) : Cell(Absent{});
}

Shown of_record(Table::Column column, Cell (*cell)(const Record& record)) {
  return {std::move(column), [cell](const ShownRecord& row) { return cell(*row.record); }};
}

Shown name_column() {
  return of_record({.title = "precision", .role = label}, [](const Record& r) -> Cell { return shown_precision(r); });
}

Shown of_column() {
  return {{.title = "of", .role = label},
          [](const ShownRecord& row) -> Cell { return row.of.empty() ? Cell(Absent{}) : Cell(row.of); }};
}

Shown trust_column() {
  return of_record({.title = "trust", .role = Table::Role::grade},
                   [](const Record& r) -> Cell { return named_or_absent(r.grade.trust); });
}

Shown peak_share_column() {
  return of_record({.title = "of peak", .unit = "%", .notation = Notation::fixed, .digits = 0},
                   [](const Record& r) { return percent(r.rates.peak_share); });
}

/// Of so few tokens a pass is little but the reading of weights, as decoding is of any batch; of more, the share says
/// nothing about what binds.
Cell bandwidth_share(const Record& record) {
  constexpr std::int64_t few_tokens = 4;
  const bool decodes = record.setting.mode == Mode::decode;
  if (!decodes && record.setting.batch * record.setting.seq > few_tokens) return Absent{};
  return percent(record.rates.bandwidth_share);
}

Shown bandwidth_share_column() {
  return of_record(
      {.title = "of memory",
       .unit = "%",
       .meaning = "weights, of decoding keys and values too, over the latency, of the bandwidth of reading "
                  "that was measured here",
       .notation = Notation::fixed,
       .digits = 0},
      bandwidth_share);
}

Shown peak_bytes_column() {
  return of_record({.title = "peak", .unit = "MB"},
                   [](const Record& r) -> Cell { return megabytes(r.memory->peak_bytes); });
}

/// Gross, beside it net, and the powers that both come from, each with its bound; empty without a meter.
void add_energy_columns(std::vector<Shown>& columns) {
  const auto within = [&](const char* title, const char* unit, Cell (*cell)(const Record&)) {
    columns.push_back(
        of_record({.title = title, .unit = unit, .spread = Spread::half_width, .more_keys = {"low", "high"}}, cell));
  };
  within("energy", "J", energy_cell);
  within("net of idle", "J", net_energy_cell);
  within("power", "W", power_cell);
  within("idle", "W", idle_power_cell);
}

/// The columns with those of energy before the one of that title.
std::vector<Shown> with_energy_before(const std::string& title, std::vector<Shown> columns) {
  const auto at =
      std::find_if(columns.begin(), columns.end(), [&](const Shown& shown) { return shown.column.title == title; });
  std::vector<Shown> all(columns.begin(), at);
  add_energy_columns(all);
  all.insert(all.end(), at, columns.end());
  return all;
}

Shown speedup_column() {
  return of_record({.title = "speed-up [95 %]", .notation = Notation::fixed, .digits = 2, .more_keys = {"low", "high"}},
                   [](const Record& r) -> Cell {
                     return is_baseline(r.setting)
                                ? or_absent(r.speedup->speedup)
                                : estimate(r.speedup->speedup, r.speedup->speedup_low, r.speedup->speedup_high);
                   });
}

/// Of timed data, whose batches differ: the mean.
Cell ms_a_row(const Record& record) {
  if (record.setting.timed_inputs == InputsOf::random || record.rates.samples_per_s.value_or(0) <= 0) return Absent{};
  return 1e3 / *record.rates.samples_per_s;
}

/// Of decoding: of single tokens.
Shown of_tokens(const char* title, std::optional<double> GenerationCosts::*figure) {
  return {{.title = title, .unit = "ms"},
          [figure](const ShownRecord& row) { return or_absent((*row.record->generation).*figure); }};
}

std::vector<Shown> inference_columns(const Records& rows) {
  return {name_column(),
          of_column(),
          of_record({.title = "latency", .unit = "ms", .spread = Spread::percent, .more_keys = {"low", "high"}},
                    [](const Record& r) -> Cell {
                      return estimate(r.latency->median_ms, r.latency->ci_low_ms, r.latency->ci_high_ms);
                    }),
          of_tokens("p90", &GenerationCosts::token_p90_ms),
          of_tokens("p99", &GenerationCosts::token_p99_ms),
          of_tokens("first", &GenerationCosts::first_token_ms),
          speedup_column(),
          of_record({.title = with_rates("{}", rows), .unit = "1/s", .notation = Notation::count},
                    [](const Record& r) -> Cell { return or_absent(r.rates.tokens_per_s); }),
          of_record({.title = "padding", .unit = "%", .notation = Notation::fixed, .digits = 1},
                    [](const Record& r) { return percent(r.rates.padding_share); }),
          of_record({.title = "ms a row"}, ms_a_row),
          of_record({.title = "GFLOP /s"}, [](const Record& r) -> Cell { return or_absent(r.rates.gflops); }),
          peak_share_column(),
          bandwidth_share_column(),
          peak_bytes_column(),
          of_record({.title = "resident",
                     .unit = "MB",
                     .meaning = "the most that its process had in memory, program and libraries too"},
                    [](const Record& r) -> Cell { return megabytes(r.memory->resident_bytes); }),
          of_record({.title = "cache", .unit = "MB", .meaning = "keys and values, in the peak"},
                    [](const Record& r) -> Cell { return megabytes(r.generation->kv_bytes); }),
          of_record({.title = "size", .unit = "MB"},
                    [](const Record& r) -> Cell { return megabytes(r.memory->model_bytes); }),
          of_record({.title = "PPL", .meaning = "perplexity", .digits = 4}, perplexity),
          of_record({.title = "accuracy", .unit = "%", .notation = Notation::fixed, .digits = 2},
                    [](const Record& r) { return percent(r.quality->accuracy); }),
          of_record({.title = "entity F1", .unit = "%", .notation = Notation::fixed, .digits = 2},
                    [](const Record& r) { return percent(r.quality->entity_f1); }),
          of_record({.title = "KL", .unit = "nat", .notation = Notation::scientific, .digits = 1},
                    [](const Record& r) -> Cell { return or_absent(r.difference->kl_mean); }),
          of_record({.title = "top-1", .unit = "%", .notation = Notation::fixed, .digits = 1},
                    [](const Record& r) { return percent(below_full(r.difference->top1_agreement, 1e-3)); }),
          of_record({.title = "scored",
                     .unit = "%",
                     .meaning = "of the data, before an interrupt: quality is that of this part",
                     .notation = Notation::fixed,
                     .digits = 0},
                    scored_share),
          of_record({.title = "largest difference", .notation = Notation::scientific, .digits = 1},
                    [](const Record& r) -> Cell { return or_absent(r.difference->score_difference); }),
          of_record({.title = "Pearson", .notation = Notation::general, .digits = 5},
                    [](const Record& r) -> Cell { return or_absent(below_full(r.difference->score_pearson, 1e-5)); }),
          of_record({.title = "Spearman", .notation = Notation::general, .digits = 5},
                    [](const Record& r) -> Cell { return or_absent(below_full(r.difference->score_spearman, 1e-5)); }),
          of_record({.title = "Spearman with labels", .notation = Notation::fixed, .digits = 4},
                    [](const Record& r) -> Cell { return or_absent(r.quality->label_spearman); }),
          of_record({.title = "ran"}, ran),
          trust_column()};
}

/// Of a figure of ranks with its interval.
Shown of_ranks(Table::Column column, std::optional<double> RankedStep::*value, std::optional<double> RankedStep::*low,
               std::optional<double> RankedStep::*high, double unit = 1) {
  column.more_keys = {"low", "high"};
  return {std::move(column), [=](const ShownRecord& row) -> Cell {
            const RankedStep& ranked = *row.record->ranked;
            const auto in_unit = [&](std::optional<double> RankedStep::*figure) {
              return ranked.*figure ? std::optional(*(ranked.*figure) * unit) : std::nullopt;
            };
            return estimate(in_unit(value), in_unit(low), in_unit(high));
          }};
}

/// Of steps by several ranks; empty of others.
void add_rank_columns(std::vector<Shown>& columns) {
  columns.push_back(of_ranks({.title = "exposed [95 %]",
                              .unit = "%",
                              .meaning = "communication in which nothing else was done, of the step",
                              .notation = Notation::fixed,
                              .digits = 1},
                             &RankedStep::exposed_of_step, &RankedStep::exposed_of_step_low,
                             &RankedStep::exposed_of_step_high, 100));
  columns.push_back({{.title = "hidden", .unit = "ms", .meaning = "communication behind the backward"},
                     [](const ShownRecord& row) -> Cell { return or_absent(row.record->ranked->hidden_ms); }});
  columns.push_back({{.title = "sent", .unit = "MB", .meaning = "by a rank, a step"},
                     [](const ShownRecord& row) -> Cell { return megabytes(row.record->ranked->sent_bytes); }});
  columns.push_back(of_ranks({.title = "weak [95 %]",
                              .unit = "%",
                              .meaning = "a rank's own rows alone over the step of all",
                              .notation = Notation::fixed,
                              .digits = 1},
                             &RankedStep::weak_efficiency, &RankedStep::weak_efficiency_low,
                             &RankedStep::weak_efficiency_high, 100));
  columns.push_back(of_ranks({.title = "of one rank's speed [95 %]",
                              .meaning = "all rows on one rank alone over the step of all",
                              .notation = Notation::fixed,
                              .digits = 2},
                             &RankedStep::rank_speedup, &RankedStep::rank_speedup_low, &RankedStep::rank_speedup_high));
  columns.push_back(of_ranks({.title = "of one process's [95 %]",
                              .meaning = "the same by one process with the threads of all ranks of its machine",
                              .notation = Notation::fixed,
                              .digits = 2},
                             &RankedStep::one_process_ratio, &RankedStep::one_process_ratio_low,
                             &RankedStep::one_process_ratio_high));
}

std::vector<Shown> training_columns() {
  const auto phase = [](const char* title, Cell (*cell)(const Record&)) {
    return of_record({.title = title, .unit = "ms", .spread = Spread::half_width, .more_keys = {"low", "high"}}, cell);
  };
  std::vector<Shown> columns = {
      name_column(),
      of_column(),
      of_record({.title = "warm-up", .unit = "steps", .role = label},
                [](const Record& r) -> Cell { return or_absent(r.setting.warmup_steps); }),
      phase("forward",
            [](const Record& r) { return with_deviation(r.training->mean_forward_ms, r.training->std_forward_ms); }),
      phase("backward",
            [](const Record& r) { return with_deviation(r.training->mean_backward_ms, r.training->std_backward_ms); }),
      phase(
          "update",
          [](const Record& r) { return with_deviation(r.training->mean_optimizer_ms, r.training->std_optimizer_ms); }),
      phase("mean step",
            [](const Record& r) { return with_deviation(r.training->mean_step_ms, r.training->std_step_ms); }),
      of_record({.title = "step", .unit = "ms", .spread = Spread::percent, .more_keys = {"low", "high"}},
                [](const Record& r) -> Cell {
                  return estimate(r.latency->median_ms, r.latency->ci_low_ms, r.latency->ci_high_ms);
                }),
      speedup_column()};
  add_rank_columns(columns);
  const std::vector<Shown> rest = {of_record({.title = "tokens", .unit = "1/s", .notation = Notation::count},
                                             [](const Record& r) -> Cell { return or_absent(r.rates.tokens_per_s); }),
                                   peak_share_column(), peak_bytes_column(), of_record({.title = "ran"}, ran),
                                   trust_column()};
  columns.insert(columns.end(), rest.begin(), rest.end());
  return columns;
}

Shown of_program(Table::Column column, std::optional<double> ProgramRun::*figure) {
  return {std::move(column),
          [figure](const ShownRecord& row) { return or_absent((*row.record->program_run).*figure); }};
}

std::vector<Shown> program_columns(const Records& rows) {
  return {of_record({.title = "program", .role = label}, [](const Record& r) -> Cell { return shown_precision(r); }),
          of_column(),
          of_record({.title = "times"}, [](const Record& r) -> Cell { return or_absent(r.latency->timed_runs); }),
          of_record({.title = "time", .unit = "ms", .spread = Spread::percent, .more_keys = {"low", "high"}},
                    [](const Record& r) -> Cell {
                      return estimate(r.latency->median_ms, r.latency->ci_low_ms, r.latency->ci_high_ms);
                    }),
          speedup_column(),
          {{.title = "of the run", .unit = "%", .notation = Notation::fixed, .digits = 1},
           [](const ShownRecord& row) -> Cell {
             if (row.run_s <= 0) return Absent{};
             return 100 * row.record->latency->timed_s.value_or(0) / row.run_s;
           }},
          of_program({.title = "user", .unit = "ms"}, &ProgramRun::user_ms),
          of_program({.title = "system", .unit = "ms"}, &ProgramRun::system_ms),
          of_record({.title = with_rates("{}", rows), .unit = "1/s"},
                    [](const Record& r) -> Cell { return or_absent(r.rates.samples_per_s); }),
          of_record({.title = "peak", .unit = "MB"},
                    [](const Record& r) -> Cell { return megabytes(r.memory->resident_bytes); }),
          of_record({.title = "GFLOP /s"}, [](const Record& r) -> Cell { return or_absent(r.rates.gflops); }),
          peak_share_column(),
          trust_column()};
}

/// What stands above records of one table. Programs that are compared stand in one.
std::string title_of_table(const Record& record) {
  const Setting& setting = record.setting;
  if (is_of_training(setting.mode)) return fmt::format("{}, batch {}", model_title(record), setting.batch);
  if (!is_of_program(setting.mode)) return model_title(record);
  return conditions_words(record, Level::title);
}

/// All runs together of the program that a phase is of.
double run_s_of(const Record& phase, std::span<const Record> records) {
  const auto program = std::find_if(records.begin(), records.end(), [&](const Record& record) {
    return record.setting.mode == Mode::program && record.setting.command == phase.setting.command &&
           record.setting.precision == phase.setting.precision;
  });
  return program == records.end() ? 0 : program->latency->timed_s.value_or(0);
}

/// Rows of programs and of their phases: which one each is of.
Table program_table(const std::string& title, const Records& shown, std::span<const Record> records) {
  std::vector<ShownRecord> rows;
  rows.reserve(shown.size());
  for (const Record* record : shown) {
    const bool is_phase = record->setting.mode == Mode::phase;
    rows.push_back(
        {record, is_phase ? cell_title(*record) : record->setting.model, is_phase ? run_s_of(*record, records) : 0});
  }
  return results_table(rows, title);
}

/// Shapes are told apart in the rows where there are several, else in the caption.
Table table_under(const std::string& title, const Records& records) {
  const std::vector<std::string> shapes = distinct(records, cell_title);
  std::vector<ShownRecord> rows;
  rows.reserve(records.size());
  for (const Record* record : records)
    rows.push_back({record, shapes.size() > 1 ? cell_title(*record) : std::string()});
  return results_table(
      rows, shapes.size() == 1 && !is_of_training(records.front()->setting.mode) ? title + ", " + shapes[0] : title);
}

}  // namespace

Table results_table(const std::vector<ShownRecord>& rows, const std::string& caption) {
  Records records;
  records.reserve(rows.size());
  for (const ShownRecord& row : rows) records.push_back(row.record);
  const auto all_are = [&](bool (*is_such)(Mode mode)) {
    return std::all_of(records.begin(), records.end(),
                       [&](const Record* record) { return is_such(record->setting.mode); });
  };
  const std::vector<Shown> columns = all_are(is_of_training)  ? with_energy_before("peak", training_columns())
                                     : all_are(is_of_program) ? with_energy_before("GFLOP /s", program_columns(records))
                                                              : with_energy_before("peak", inference_columns(records));
  return filled<ShownRecord>({.key = "results", .caption = caption}, columns, rows);
}

std::vector<Table> results_tables(std::span<const Record> records) {
  std::vector<std::pair<std::string, Records>> titles;
  for (const Record& record : records) {
    if (record.outcome.status != Status::ok) continue;
    const std::string title = title_of_table(record);
    auto known = std::find_if(titles.begin(), titles.end(), [&](const auto& one) {
      return one.first == title && one.second.front()->setting.weights == record.setting.weights;
    });
    if (known == titles.end()) known = titles.insert(titles.end(), {title, {}});
    known->second.push_back(&record);
  }
  std::vector<Table> tables;
  tables.reserve(titles.size());
  for (const auto& [title, rows] : titles) {
    const bool is_program = is_of_program(rows.front()->setting.mode);
    tables.push_back(is_program ? program_table(title, rows, records) : table_under(title, rows));
  }
  return tables;
}

}  // namespace assay
