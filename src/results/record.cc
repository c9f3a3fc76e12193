#include "results/record.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

namespace assay {
namespace {

constexpr std::array<const char*, status_kinds> status_names = {
    "ok", "oom", "too_slow", "unsupported", "emulated", "impossible", "interrupted", "crashed", "not finite"};

std::vector<const LedgerRow*> working_rows(const Record& record) {
  std::vector<const LedgerRow*> rows;
  for (const LedgerRow& row : record.ledger) {
    if (multiplies(row)) rows.push_back(&row);
  }
  if (!rows.empty()) return rows;
  for (const LedgerRow& row : record.ledger) rows.push_back(&row);
  return rows;
}

/// A kWh is 3.6e6 J.
void derive_energy(Record& record) {
  record.cost_per_million_tokens.reset();  // A restored row may have one at another price.
  record.carbon_g_per_million_tokens.reset();
  if (!record.energy_j) return;
  record.energy_per_token_j = *record.energy_j / static_cast<double>(record.seq);
  if (record.median_ms) record.energy_delay_js = *record.energy_j * *record.median_ms * 1e-3;
  const double kwh_per_million = *record.energy_per_token_j * 1e6 / 3.6e6;
  if (record.price_per_kwh) record.cost_per_million_tokens = kwh_per_million * *record.price_per_kwh;
  if (record.carbon_g_per_kwh) record.carbon_g_per_million_tokens = kwh_per_million * *record.carbon_g_per_kwh;
}

}  // namespace

const char* name(Status status) {
  return status_names[static_cast<std::size_t>(status)];
}

std::optional<Status> parse_status(std::string_view text) {
  for (std::size_t i = 0; i < status_names.size(); ++i) {
    if (text == status_names[i]) return static_cast<Status>(i);
  }
  return std::nullopt;
}

const char* quality_kind(const Record& record) {
  if (record.perplexity || record.log_perplexity) return "perplexity";
  if (record.accuracy) return "accuracy";
  return record.score_difference ? "scores" : "";
}

bool is_linear(const LedgerRow& row) {
  return row.operation == "linear" || row.operation == "quantized_linear";
}

bool multiplies(const LedgerRow& row) {
  constexpr std::array products = {
      "attention",          "attention_scores",      "attention_context",     "attention_context_transposed",
      "attention_gradient", "linear_input_gradient", "linear_weight_gradient"};
  return is_linear(row) || std::find(products.begin(), products.end(), row.operation) != products.end();
}

void derive(Record& record) {
  if (record.timed_runs && record.timed_s.value_or(0) > 0) {
    const auto sequences = static_cast<double>(record.batch) * static_cast<double>(*record.timed_runs);
    record.samples_per_s = record.items.value_or(sequences) / *record.timed_s;
    record.tokens_per_s = *record.samples_per_s * static_cast<double>(record.seq);
  }
  if (record.energy_j && record.samples_per_s && !record.power_w)
    record.power_w = *record.energy_j * *record.samples_per_s;
  derive_energy(record);
  if (!record.median_ms || *record.median_ms <= 0) return;
  const double median_s = *record.median_ms * 1e-3;
  if (record.flops) record.gflops = *record.flops / median_s * 1e-9;
  if (record.gflops && record.peak_gflops.value_or(0) > 0) record.peak_share = *record.gflops / *record.peak_gflops;
  if (record.moved_bytes) record.bytes_per_s = *record.moved_bytes / median_s;
}

const LedgerRow* dominant_row(const Record& record) {
  std::map<std::tuple<DType, DType, Verdict>, double> work;
  const LedgerRow* best = nullptr;
  double most = 0;
  for (const LedgerRow* row : working_rows(record)) {
    // An operation that counts no FLOPs still ran.
    const double flops = work[{row->operand, row->accumulator, row->verdict}] += std::max(row->flops, 1.0);
    if (flops <= most) continue;
    most = flops;
    best = row;
  }
  return best;
}

std::string what_ran(const Record& record) {
  const LedgerRow* row = dominant_row(record);
  return row ? fmt::format("{}/{} {}", name(row->operand), name(row->accumulator), name(row->verdict)) : "";
}

}  // namespace assay
