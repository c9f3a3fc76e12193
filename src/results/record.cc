#include "results/record.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

namespace assay {
namespace {

std::vector<const LedgerRow*> working_rows(std::span<const LedgerRow> ledger) {
  std::vector<const LedgerRow*> rows;
  for (const LedgerRow& row : ledger) {
    if (multiplies(row)) rows.push_back(&row);
  }
  if (!rows.empty()) return rows;
  for (const LedgerRow& row : ledger) rows.push_back(&row);
  return rows;
}

void rate_energy(const Record& record, Rates& rates) {
  constexpr double j_of_kwh = 3.6e6;
  if (!record.energy || !record.energy->energy_j) return;
  const Energy& energy = *record.energy;
  rates.energy_per_token_j = *energy.energy_j / static_cast<double>(record.setting.seq);
  if (const auto ms = record.latency->median_ms) rates.energy_delay_js = *energy.energy_j * *ms * 1e-3;
  const double kwh_per_million = *rates.energy_per_token_j * 1e6 / j_of_kwh;
  if (energy.price_per_kwh) rates.cost_per_million_tokens = kwh_per_million * *energy.price_per_kwh;
  if (energy.carbon_g_per_kwh) rates.carbon_g_per_million_tokens = kwh_per_million * *energy.carbon_g_per_kwh;
}

void rate_throughput(const Setting& setting, const Latency& latency, Rates& rates) {
  if (!latency.timed_runs || latency.timed_s.value_or(0) <= 0) return;
  const auto sequences = static_cast<double>(setting.batch) * static_cast<double>(*latency.timed_runs);
  rates.samples_per_s = latency.items.value_or(sequences) / *latency.timed_s;
  rates.tokens_per_s = *rates.samples_per_s * static_cast<double>(setting.seq);
}

void rate_work(const Latency& latency, const Evidence& evidence, Rates& rates) {
  if (latency.median_ms.value_or(0) <= 0) return;
  const double median_s = *latency.median_ms * 1e-3;
  if (evidence.flops) rates.gflops = *evidence.flops / median_s * 1e-9;
  if (rates.gflops && evidence.peak_gflops.value_or(0) > 0) rates.peak_share = *rates.gflops / *evidence.peak_gflops;
  if (evidence.moved_bytes) rates.bytes_per_s = *evidence.moved_bytes / median_s;
}

}  // namespace

const char* quality_kind(const Record& record) {
  if (record.quality->perplexity || record.quality->log_perplexity) return "perplexity";
  if (record.quality->accuracy) return "accuracy";
  return record.difference->score_difference ? "scores" : "";
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

Rates rates_of(const Record& record) {
  Rates rates;
  rate_energy(record, rates);
  if (!record.latency) return rates;
  rate_throughput(record.setting, *record.latency, rates);
  rate_work(*record.latency, record.evidence, rates);
  return rates;
}

const LedgerRow* dominant_row(std::span<const LedgerRow> ledger) {
  std::map<std::tuple<DType, DType, Verdict>, double> work;
  const LedgerRow* best = nullptr;
  double most = 0;
  for (const LedgerRow* row : working_rows(ledger)) {
    // An operation that counts no FLOPs still ran.
    const double flops = work[{row->operand, row->accumulator, row->verdict}] += std::max(row->flops, 1.0);
    if (flops <= most) continue;
    most = flops;
    best = row;
  }
  return best;
}

std::string what_ran(const Record& record) {
  const LedgerRow* row = dominant_row(record.evidence.ledger);
  return row ? fmt::format("{}/{} {}", name(row->operand), name(row->accumulator), name(row->verdict)) : "";
}

}  // namespace assay
