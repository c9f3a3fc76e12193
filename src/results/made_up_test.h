#pragma once

#include <string>
#include <vector>

#include "results/derive.h"
#include "results/finding.h"
#include "results/record.h"

namespace assay {

// Made-up records for tests of the rules and of the reports.

inline LedgerRow made_up_row(const std::string& precision, DType operand, Verdict verdict, int layer) {
  return {.path = "layers." + std::to_string(layer) + ".attn.q_proj",
          .operation = "linear",
          .role = "attention",
          .requested = precision,
          .kernel = std::string("brg:avx512_core_amx, packed ") + name(operand),
          .operand = operand,
          .accumulator = operand == DType::s8 ? DType::s32 : DType::f32,
          .stored = DType::f32,
          .verdict = verdict,
          .evidence = "matmul measured at 6.5x fp32",
          .device = "cpu",
          .flops = 3.4e10 / 3};
}

/// What the three rows of the ledger take at the record's peaks.
inline void set_peak_times(Record& record) {
  record.evidence.instruction_ms = *record.evidence.flops / *record.evidence.instruction_peak_gflops * 1e-6;
  record.evidence.matmul_ms = *record.evidence.flops / *record.evidence.matmul_peak_gflops * 1e-6;
}

/// A sound row: 40 quiet samples around `median_ms`, graded A.
inline Record made_up_record(const std::string& precision, double median_ms, DType operand = DType::f32) {
  Record record;
  record.setting.model = "smollm2-135m";
  record.setting.weights = "sha256:0123456789abcdef";
  record.setting.parameters = 134'515'008;
  record.setting.stored_dtype = "bf16";
  record.setting.precision = precision;
  record.setting.baseline = "fp32";
  record.setting.seq = 128;
  record.setting.threads = 2;
  record.latency.made().samples = 40;
  for (int i = 0; i < 40; ++i) record.latency.made().raw_ms.push_back(median_ms * (1 + 0.0002 * (i % 5 - 2)));
  record.latency.made().process_samples = {8, 8, 8, 8, 8};
  record.latency.made().repetitions = 1;
  record.latency.made().first_ms = 2 * median_ms;
  record.latency.made().steady = true;
  record.latency.made().median_ms = median_ms;
  record.latency.made().p10_ms = 0.99 * median_ms;
  record.latency.made().p90_ms = 1.01 * median_ms;
  record.latency.made().p99_ms = 1.02 * median_ms;
  record.latency.made().mean_ms = median_ms;
  record.latency.made().std_ms = 0.005 * median_ms;
  record.latency.made().ci_low_ms = 0.995 * median_ms;
  record.latency.made().ci_high_ms = 1.005 * median_ms;
  record.latency.made().asked_width = 0.02;
  record.latency.made().stopped_by = StoppedBy::width;
  record.latency.made().timed_runs = 40;
  record.latency.made().timed_s = 0.04 * median_ms;
  record.outcome.group = 1;
  record.evidence.flops = 3.4e10;
  record.evidence.moved_bytes = 6e8;
  record.evidence.weight_bytes_read = 5.38e8;
  record.evidence.instruction_peak_gflops = 420;
  record.evidence.matmul_peak_gflops = 377;
  record.evidence.baseline_matmul_peak_gflops = 377;
  set_peak_times(record);
  record.evidence.peaks_measured_share = 0.99;
  record.evidence.peak_gflops = 377;
  record.evidence.peak_kind = "best matmul, f32 operands";
  record.evidence.bandwidth_bytes_per_s = 2e10;
  record.evidence.cache_bytes = 3.2e7;
  record.memory.made().model_bytes = 538'060'032;
  record.memory.made().packed_bytes = 538'060'032;
  record.memory.made().arena_bytes = 20'000'000;
  record.memory.made().peak_bytes = 558'060'032;
  record.energy.made().energy_status = {EnergyState::no_meter, "/sys/class/powercap is absent"};
  record.quality.made().quality_status = {QualityState::other, "measured"};
  record.quality.made().perplexity = 18.21;
  record.quality.made().log_perplexity = 2.902;
  record.quality.made().scored = 8192;
  record.quality.made().scored_windows = 64;
  record.circumstances.made().foreign_load = 0.004;
  record.circumstances.made().stolen_share = 0.0;
  record.circumstances.made().frequency_before_mhz = 2600;
  record.circumstances.made().frequency_after_mhz = 2600;
  record.circumstances.made().page_faults = 3;
  record.circumstances.made().major_page_faults = 0;
  record.evidence.inputs = {{"input_ids", DType::s32, "cpu"}};
  for (int layer = 0; layer < 3; ++layer) {
    record.evidence.ledger.push_back(made_up_row(precision, operand, Verdict::native, layer));
  }
  record.rates = rates_of(record);
  return record;
}

inline Record compared(Record record, double speedup, double delta, double delta_se) {
  record.speedup.made().speedup = speedup;
  record.speedup.made().speedup_low = 0.98 * speedup;
  record.speedup.made().speedup_high = 1.02 * speedup;
  record.speedup.made().baseline_median_ms = 150;
  record.difference.made().delta_log_perplexity = delta;
  record.difference.made().delta_log_perplexity_se = delta_se;
  record.difference.made().delta_log_perplexity_low = delta - 2 * delta_se;
  record.difference.made().delta_log_perplexity_high = delta + 2 * delta_se;
  record.difference.made().kl_mean = 1.2e-5;
  record.difference.made().kl_p999 = 3e-4;
  record.difference.made().top1_agreement = 0.9983;
  return record;
}

inline Record in_16_bits(Record record, DType operand, double matmul_ratio) {
  record.memory.made().model_bytes = 269'030'016;
  record.evidence.weight_bytes_read = 2.69e8;
  record.evidence.instruction_peak_gflops = 6000;
  record.evidence.matmul_peak_gflops = matmul_ratio * 377;
  record.evidence.peak_gflops = record.evidence.matmul_peak_gflops;
  record.evidence.peak_kind = std::string("best matmul, ") + name(operand) + " operands";
  set_peak_times(record);
  record.rates = rates_of(record);
  return record;
}

/// fp32, mixed-bf16, bf16 and int8 as they come out on a machine with a matrix unit.
inline std::vector<Record> made_up_cell() {
  Record bf16 = in_16_bits(compared(made_up_record("bf16", 40, DType::bf16), 3.75, 0.0004, 0.0005), DType::bf16, 6.5);
  Record mixed =
      in_16_bits(compared(made_up_record("mixed-bf16", 48, DType::bf16), 3.125, 0.0001, 0.0003), DType::bf16, 6.5);
  mixed.memory.made().model_bytes = 538'060'032;
  mixed.memory.made().packed_bytes = 269'030'016;
  Record int8 = in_16_bits(compared(made_up_record("int8", 30, DType::s8), 5, 0.012, 0.002), DType::s8, 14);
  int8.memory.made().model_bytes = 137'000'000;
  int8.evidence.instruction_peak_gflops = 12000;
  set_peak_times(int8);
  int8.quality.made().perplexity = 18.43;
  Record fp32 = compared(made_up_record("fp32", 150), 1, 0, 0);
  std::vector<Record> cell = {fp32, mixed, bf16, int8};
  for (std::size_t i = 0; i < cell.size(); ++i) cell[i].quality.made().logits_hash = "hash" + std::to_string(i);
  return cell;
}

/// Decoding: rounds of eight tokens, of which the first four stand apart, and what was decoded compared with fp32's.
inline Record made_up_decode(const std::string& precision, double token_ms) {
  Record record = compared(made_up_record(precision, token_ms), 1.5, 0.0004, 0.0005);
  record.setting.mode = Mode::decode;
  record.setting.seq = 1;
  record.setting.depth = 2048;
  record.setting.prompt_tokens = 512;
  record.setting.new_tokens = 8;
  GenerationCosts& generation = record.generation.made();
  generation.kv_bytes = 118'000'000;
  generation.kv_bytes_read = 117'000'000;
  for (int i = 0; i < 6 * 8; ++i) generation.raw_token_ms.push_back(token_ms * (1 + 0.01 * (i % 8)));
  generation.first_tokens = 4;
  generation.choice_ms = 0.01;
  generation.products_ms = 4.0;
  generation.attention_ms = 0.5;
  generation.other_kernels_ms = 0.25;
  generation.outside_kernels_ms = 0.05;
  DecodedDifference& decoded = record.decoded.made();
  decoded.position_from = {0, 16, 32};
  decoded.kl_by_position = {1e-3, 2e-3, 2.5e-3};
  decoded.top1_by_position = {1, 0.99, 0.985};
  decoded.kl_growth = 1.25;
  decoded.kl_growth_low = 1.125;
  decoded.kl_growth_high = 1.5;
  decoded.continued_tokens = 128;
  decoded.equal_tokens = {128, 64, 31, 100};
  return with_derived({record}).front();
}

/// A row without a number.
inline Record made_up_left_out(const std::string& precision, Status status, const std::string& reason) {
  Record record;
  record.setting.model = "smollm2-135m";
  record.setting.weights = "sha256:0123456789abcdef";
  record.setting.precision = precision;
  record.setting.baseline = "fp32";
  record.setting.seq = 128;
  record.setting.threads = 2;
  record.outcome.status = status;
  record.outcome.reason = reason;
  return record;
}

/// One of each kind of sentence, about a row and about a cell.
inline std::vector<Finding> made_up_findings() {
  Finding expected;
  expected.rule = "size";
  expected.kind = RuleKind::expectation;
  expected.model = "smollm2-135m";
  expected.precision = "bf16";
  expected.met = true;
  expected.text = "bf16 takes half of fp32's bytes.";
  Finding found = expected;
  found.rule = "advice";
  found.kind = RuleKind::finding;
  found.batch = 8;
  found.precision.clear();
  found.met.reset();
  found.text = "int8 is the fastest.";
  found.severity = Severity::medium;
  return {expected, found};
}

}  // namespace assay
