#include "studies/generation_bench/document.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/units.h"
#include "results/identity.h"
#include "results/model_name.h"
#include "results/parts.h"
#include "results/states.h"
#include "results/table.h"

namespace assay {
namespace {

/// Of a phase's time, what each resource takes at its measured best.
struct Shares {
  double memory = 0;    ///< Reading weights and cache once.
  double products = 0;  ///< Matrix products at the best rates of their operands.
};

/// A share below that leaves more unexplained than it explains.
constexpr double binding_share = 0.5;

Shares shares_of(const Record& record) {
  Shares shares;
  const double ms = record.latency->median_ms.value_or(0);
  const double bandwidth = record.evidence.bandwidth_bytes_per_s.value_or(0);
  if (ms <= 0) return shares;
  if (bandwidth > 0) shares.memory = bytes_a_run(record).value_or(0) / bandwidth * 1e3 / ms;
  shares.products = record.evidence.matmul_ms.value_or(0) / ms;
  return shares;
}

std::string binding_words(const Shares& shares) {
  const double most = std::max(shares.memory, shares.products);
  if (most < binding_share) return "neither";
  return shares.memory >= shares.products ? "memory" : "matrix products";
}

/// What fewer bytes allow where nothing but memory binds.
std::optional<double> most_gain(const Record& record, const Record* baseline) {
  if (baseline == nullptr || record.setting.mode != Mode::decode) return std::nullopt;
  const auto own = bytes_a_run(record);
  const auto others = bytes_a_run(*baseline);
  if (!own || !others || *own <= 0) return std::nullopt;
  return *others / *own;
}

struct PhaseRow {
  const Record* record = nullptr;
  const Record* baseline = nullptr;  ///< Of its cell; null where there is none.
};

std::vector<PhaseRow> phase_rows(const std::vector<Record>& records) {
  std::vector<PhaseRow> rows;
  for (const Record& record : records) {
    if (record.outcome.status != Status::ok || !record.latency->median_ms) continue;
    const auto baseline = std::find_if(records.begin(), records.end(), [&](const Record& other) {
      return other.setting.precision == record.setting.baseline && !other.setting.engine &&
             other.outcome.status == Status::ok && stand_together(other.setting, record.setting, Level::cell);
    });
    rows.push_back({&record, baseline == records.end() ? nullptr : &*baseline});
  }
  return rows;
}

using PhaseColumn = ColumnOf<PhaseRow>;

PhaseColumn setting_column(const char* key, std::optional<std::int64_t> Setting::*member) {
  return {{.key = key, .notation = Notation::exact, .role = Table::Role::label},
          [member](const PhaseRow& row) { return or_absent(row.record->setting.*member); }};
}

PhaseColumn resource_column(const char* key, const char* title, double Shares::*share) {
  return {{.key = key, .title = title, .notation = Notation::percent, .digits = 0},
          [share](const PhaseRow& row) -> Table::Cell {
            const double value = shares_of(*row.record).*share;
            return value > 0 ? Table::Cell(value) : Table::Cell(Absent{"not measured"});
          }};
}

std::vector<PhaseColumn> naming_columns() {
  constexpr auto label = Table::Role::label;
  return {{{.key = "model", .role = label},
           [](const PhaseRow& row) -> Table::Cell { return shown_model_name(row.record->setting.model); }},
          {{.key = "phase", .role = label},
           [](const PhaseRow& row) -> Table::Cell { return name(row.record->setting.mode); }},
          {{.key = "batch", .notation = Notation::exact, .role = label},
           [](const PhaseRow& row) -> Table::Cell { return row.record->setting.batch; }},
          setting_column("depth", &Setting::depth),
          setting_column("prompt_tokens", &Setting::prompt_tokens),
          setting_column("new_tokens", &Setting::new_tokens),
          {{.key = "precision", .role = label},
           [](const PhaseRow& row) -> Table::Cell { return row_name(row.record->setting); }}};
}

PhaseColumn token_column(const char* key, const char* title, std::optional<double> GenerationCosts::*figure) {
  return {{.key = key, .title = title, .unit = "ms"},
          [figure](const PhaseRow& row) { return or_absent((*row.record->generation).*figure); }};
}

std::vector<PhaseColumn> time_columns() {
  return {{{.key = "ms", .title = "time", .unit = "ms", .spread = Spread::percent, .more_keys = {"ms_low", "ms_high"}},
           [](const PhaseRow& row) {
             const Latency& latency = *row.record->latency;
             return estimate_or_absent(latency.median_ms, latency.ci_low_ms, latency.ci_high_ms);
           }},
          token_column("token_p10_ms", "p10", &GenerationCosts::token_p10_ms),
          token_column("token_p90_ms", "p90", &GenerationCosts::token_p90_ms),
          token_column("token_p99_ms", "p99", &GenerationCosts::token_p99_ms),
          token_column("first_token_ms", "first", &GenerationCosts::first_token_ms),
          {{.key = "tokens_per_s", .title = "tokens", .unit = "1/s", .notation = Notation::significant},
           [](const PhaseRow& row) { return or_absent(row.record->rates.tokens_per_s); }},
          {{.key = "speedup",
            .title = "speed-up [95 %]",
            .notation = Notation::fixed,
            .digits = 2,
            .more_keys = {"speedup_low", "speedup_high"}},
           [](const PhaseRow& row) {
             const Speedup& speedup = *row.record->speedup;
             return estimate_or_absent(speedup.speedup, speedup.speedup_low, speedup.speedup_high);
           }},
          {{.key = "energy_per_token_j", .title = "energy a token", .unit = "J"},
           [](const PhaseRow& row) { return or_absent(row.record->rates.energy_per_token_j); }}};
}

Table times_table(const std::vector<PhaseRow>& rows) {
  std::vector<PhaseColumn> columns = naming_columns();
  for (PhaseColumn& column : time_columns()) columns.push_back(std::move(column));
  columns.push_back({{.key = "kv_bytes", .title = "cache", .notation = Notation::bytes},
                     [](const PhaseRow& row) { return or_absent(row.record->generation->kv_bytes); }});
  columns.push_back({{.key = "peak_bytes", .title = "peak", .notation = Notation::bytes},
                     [](const PhaseRow& row) { return or_absent(row.record->memory->peak_bytes); }});
  columns.push_back({{.key = "trust", .role = Table::Role::grade},
                     [](const PhaseRow& row) { return named_or_absent(row.record->grade.trust); }});
  return filled<PhaseRow>(
      {.key = "generation",
       .caption = "Generation: prefill is the time to the first token, decode the time a token",
       .legend =
           "time: median over the rounds with its 95 % interval; of decoding a sample is a round's mean time of a "
           "token of every row, the greedy choice of the next id included. p10 to p99: of single tokens; first: "
           "median of each round's first ones, which are in no other figure. peak: weights, buffers and cache."},
      columns, rows);
}

Table left_out_table(const std::vector<Record>& records) {
  std::vector<PhaseRow> rows;
  for (const Record& record : records) {
    if (record.outcome.status != Status::ok) rows.push_back({&record, nullptr});
  }
  std::vector<PhaseColumn> columns = naming_columns();
  columns.push_back({{.key = "status", .more_keys = {"reason"}}, [](const PhaseRow& row) -> Table::Cell {
                       return RowStatus{row.record->outcome.status, row.record->outcome.reason.value_or("")};
                     }});
  return filled<PhaseRow>({.key = "left_out", .caption = "Without figures"}, columns, rows);
}

/// Of this program's rows: what other programs read nobody knows.
Table binding_table(std::vector<PhaseRow> rows) {
  std::erase_if(rows, [](const PhaseRow& row) { return row.record->setting.engine.has_value(); });
  std::vector<PhaseColumn> columns = naming_columns();
  columns.push_back({{.key = "bytes", .title = "bytes a run", .notation = Notation::bytes},
                     [](const PhaseRow& row) { return or_absent(bytes_a_run(*row.record)); }});
  columns.push_back(resource_column("memory_share", "memory", &Shares::memory));
  columns.push_back(resource_column("products_share", "products", &Shares::products));
  columns.push_back({{.key = "bound_by", .title = "bound by"},
                     [](const PhaseRow& row) -> Table::Cell { return binding_words(shares_of(*row.record)); }});
  columns.push_back(
      {{.key = "most_gain", .title = "gain at most", .unit = "x", .notation = Notation::fixed, .digits = 2},
       [](const PhaseRow& row) { return or_absent(most_gain(*row.record, row.baseline)); }});
  columns.push_back({{.key = "speedup", .title = "speed-up", .unit = "x", .notation = Notation::fixed, .digits = 2},
                     [](const PhaseRow& row) { return or_absent(row.record->speedup->speedup); }});
  return filled<PhaseRow>(
      {.key = "binding",
       .caption = "What binds each phase",
       .legend =
           "bytes a run: weights and, in decoding, keys and values, each read once. memory: the share of the "
           "phase's time that reading them takes at the measured read bandwidth (above 100 % where caches serve a "
           "part). products: the same of its matrix products at the best rates measured. The larger share binds, "
           "where it is half of the time at least. gain at most: the baseline's bytes over these, what a token "
           "bound by memory can become faster by."},
      columns, rows);
}

using TokenPart = std::optional<double> GenerationCosts::*;
constexpr TokenPart token_parts[] = {&GenerationCosts::products_ms, &GenerationCosts::attention_ms,
                                     &GenerationCosts::other_kernels_ms, &GenerationCosts::outside_kernels_ms};

PhaseColumn part_column(const char* key, const char* title, TokenPart part) {
  return {{.key = key, .title = title, .notation = Notation::percent, .digits = 1},
          [part](const PhaseRow& row) -> Table::Cell {
            const GenerationCosts& generation = *row.record->generation;
            double whole = 0;
            for (const TokenPart one : token_parts) whole += (generation.*one).value_or(0);
            return Table::Cell(*(generation.*part) / whole);
          }};
}

/// Of decoded tokens whose kernels were timed one by one.
Table parts_table(std::vector<PhaseRow> rows) {
  std::erase_if(rows, [](const PhaseRow& row) { return !row.record->generation->outside_kernels_ms; });
  std::vector<PhaseColumn> columns = naming_columns();
  columns.push_back(part_column("products_part", "products", &GenerationCosts::products_ms));
  columns.push_back(part_column("attention_part", "attention", &GenerationCosts::attention_ms));
  columns.push_back(part_column("other_kernels_part", "other kernels", &GenerationCosts::other_kernels_ms));
  columns.push_back(part_column("outside_kernels_part", "outside", &GenerationCosts::outside_kernels_ms));
  columns.push_back(token_column("outside_kernels_ms", "outside", &GenerationCosts::outside_kernels_ms));
  return filled<PhaseRow>(
      {.key = "token_parts",
       .caption = "Where a token's time goes",
       .legend =
           "Of up to 16 tokens behind the rounds, with the clock read around every kernel. products: with weights, "
           "those of attention are its own. outside: of kernels; inputs handed over, threads gathered, steps started, "
           "the choice of the next id, without the clock's own time."},
      columns, rows);
}

/// Cells that differ in the batch alone, of one precision.
std::string line_key(const Record& record) {
  const Setting& s = record.setting;
  return fmt::format("{}, {} at depth {}, {} new tokens behind a prompt of {}", shown_model_name(s.model), s.precision,
                     s.depth.value_or(0), s.new_tokens.value_or(0), s.prompt_tokens.value_or(0));
}

/// From which batch on products take more of a token's time than memory does.
std::vector<std::string> batch_sentences(const std::vector<PhaseRow>& rows) {
  std::map<std::string, std::map<std::int64_t, const Record*>> lines;
  for (const PhaseRow& row : rows) {
    const Setting& setting = row.record->setting;
    if (setting.mode == Mode::decode && !setting.engine && row.record->evidence.matmul_ms)
      lines[line_key(*row.record)][row.record->setting.batch] = row.record;
  }
  std::vector<std::string> sentences;
  for (const auto& [words, batches] : lines) {
    if (batches.size() < 2) continue;
    const auto first = std::find_if(batches.begin(), batches.end(), [](const auto& one) {
      const Shares shares = shares_of(*one.second);
      return shares.products > shares.memory && shares.products >= binding_share;
    });
    sentences.push_back(
        first == batches.end()
            ? fmt::format("{}: matrix products bind decoding at no batch up to {}.", words, batches.rbegin()->first)
            : fmt::format("{}: matrix products bind decoding from batch {} on.", words, first->first));
  }
  return sentences;
}

}  // namespace

void tell_generation(Document& document) {
  const std::vector<PhaseRow> rows = phase_rows(document.records);
  if (rows.size() < document.records.size()) document.tables.push_back(left_out_table(document.records));
  if (rows.empty()) return;
  document.tables.insert(document.tables.begin(), times_table(rows));
  document.tables.push_back(binding_table(rows));
  if (Table parts = parts_table(rows); !parts.rows.empty()) document.tables.push_back(std::move(parts));
  if (std::vector<std::string> texts = batch_sentences(rows); !texts.empty())
    document.sentences.push_back({.key = "batches", .texts = std::move(texts)});
  std::vector<const Record*> measured;
  measured.reserve(rows.size());
  for (const PhaseRow& row : rows) measured.push_back(row.record);
  for (Figure& figure : generation_figures(measured)) document.figures.push_back(std::move(figure));
}

}  // namespace assay
