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

}  // namespace

const char* quality_kind(const Record& record) {
  if (record.quality->accuracy) return "accuracy";  // Of a classifier log_perplexity is its loss.
  if (record.quality->perplexity || record.quality->log_perplexity) return "perplexity";
  return record.difference->score_difference ? "scores" : "";
}

std::optional<double> work_ms(const Record& record) {
  return record.setting.timed_inputs == InputsOf::data ? record.latency->mean_ms : record.latency->median_ms;
}

std::optional<double> bytes_a_run(const Record& record) {
  if (!record.evidence.weight_bytes_read) return std::nullopt;
  return *record.evidence.weight_bytes_read + record.generation->kv_bytes_read.value_or(0);
}

bool is_linear(const LedgerRow& row) {
  constexpr std::array linears = {
      "linear",        "quantized_linear",        "block_linear",        "quantized_block_linear",
      "expert_linear", "expert_quantized_linear", "expert_block_linear", "expert_quantized_block_linear"};
  return std::find(linears.begin(), linears.end(), row.operation) != linears.end();
}

bool multiplies(const LedgerRow& row) {
  constexpr std::array products = {"attention",
                                   "attention_scores",
                                   "attention_context",
                                   "attention_context_transposed",
                                   "attention_gradient",
                                   "cached_attention",
                                   "relative_scores",
                                   "relative_input_gradient",
                                   "relative_table_gradient",
                                   "linear_input_gradient",
                                   "quantized_linear_input_gradient",
                                   "block_linear_input_gradient",
                                   "linear_weight_gradient",
                                   "expert_linear_input_gradient",
                                   "expert_linear_weight_gradient"};
  return is_linear(row) || std::find(products.begin(), products.end(), row.operation) != products.end();
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
