#include <algorithm>
#include <cmath>

#include "rules/physics.h"
#include "rules/rule_tables.h"

namespace assay {
namespace {

Judgement says_duration(const Cell&, const Record& row) {
  const auto wrong =
      std::find_if(row.latency->raw_ms.begin(), row.latency->raw_ms.end(), [](double ms) { return !(ms > 0); });
  if (wrong == row.latency->raw_ms.end()) return {};
  return {fmt::format("a sample lasts {} ms", *wrong), {}};
}

Judgement says_instruction_peak(const Cell&, const Record& row) {
  const double pass_ms = work_ms(row).value_or(0);
  if (are_peaks_busy(row) || !row.evidence.instruction_ms || pass_ms <= 0) return {};
  if (!is_impossible(exactly(*row.evidence.instruction_ms), pass_ms)) return {};
  const Precision* precision = precision_row(row);
  const bool claims_f32 = precision && precision->operand == DType::f32 && !is_defined_operand(*precision, DType::bf16);
  return {fmt::format("{} is {} the rate that its instructions reach without memory: they alone take {} ms for its "
                      "matrix products{}",
                      milliseconds(row), times(*row.evidence.instruction_ms / pass_ms),
                      format_significant(*row.evidence.instruction_ms),
                      claims_f32 ? "; if they ran at all, it was in a narrower type (TF32, bf16)" : ""),
          {}};
}

/// What memory can be read at, by several readings where there are; by one, that one.
std::optional<double> most_bandwidth(const Record& row) {
  const auto most = row.evidence.bandwidth_high_bytes_per_s ? row.evidence.bandwidth_high_bytes_per_s
                                                            : row.evidence.bandwidth_bytes_per_s;
  return most.value_or(0) > 0 ? most : std::nullopt;
}

std::string most_bandwidth_words(const Record& row) {
  return fmt::format("what was measured here allows {}/s", format_bytes(*most_bandwidth(row)));
}

Judgement says_bandwidth(const Cell&, const Record& row) {
  const std::optional<double> pass_ms = work_ms(row);
  const std::optional<double> bytes = bytes_a_run(row);
  if (!bytes || !row.evidence.cache_bytes || !pass_ms) return {};
  if (are_peaks_busy(row) || !most_bandwidth(row)) return {};
  const Range rate = rate_from_memory(*bytes, *row.evidence.cache_bytes, exactly(*pass_ms));
  if (!is_impossible(rate, *most_bandwidth(row))) return {};
  return {fmt::format("its weights{} beyond the caches would have come from memory at {}/s; {}",
                      row.generation->kv_bytes_read ? ", keys and values" : "", format_bytes(rate.low),
                      most_bandwidth_words(row)),
          {}};
}

/// One phase of a training step against its matrix products.
Judgement phase_sentence(const char* phase, std::optional<double> phase_ms, std::optional<double> least_ms) {
  if (!least_ms || phase_ms.value_or(0) <= 0 || !is_impossible(exactly(*least_ms), *phase_ms)) return {};
  return {fmt::format("its {} of {} ms is {} the rate that the instructions of its matrix products reach", phase,
                      format_significant(*phase_ms), times(*least_ms / *phase_ms)),
          {}};
}

Judgement says_phase_peak(const Cell&, const Record& row) {
  if (are_peaks_busy(row)) return {};
  const Judgement forward = phase_sentence("forward", row.training->forward_ms, row.evidence.forward_instruction_ms);
  return forward.text.empty()
             ? phase_sentence("backward", row.training->backward_ms, row.evidence.backward_instruction_ms)
             : forward;
}

/// Means add up where medians need not; phases and step are readings of one clock, which other programs read in an
/// interpreter, some tenths of a millisecond between phases. Of several ranks they are not: each phase is that of the
/// rank where it took longest.
Judgement says_phases(const Cell&, const Record& row) {
  if (row.setting.ranks.value_or(1) > 1) return {};
  if (!row.training->mean_forward_ms || row.training->mean_step_ms.value_or(0) <= 0) return {};
  const double sum_ms = *row.training->mean_forward_ms + row.training->mean_backward_ms.value_or(0) +
                        row.training->mean_optimizer_ms.value_or(0);
  constexpr double between_phases_ms = 0.2;
  const double step_ms = *row.training->mean_step_ms;
  const double missing_ms = step_ms - sum_ms;
  if (missing_ms >= -0.01 * step_ms && missing_ms <= std::max(0.01 * step_ms, between_phases_ms)) return {};
  return {fmt::format("its phases take {} ms together, its step {} ms", format_significant(sum_ms, 4),
                      format_significant(step_ms, 4)),
          {}};
}

Judgement says_update_bandwidth(const Cell&, const Record& row) {
  if (!row.evidence.optimizer_bytes_read || !row.evidence.cache_bytes || row.training->optimizer_ms.value_or(0) <= 0)
    return {};
  if (are_peaks_busy(row) || !most_bandwidth(row)) return {};
  const Range rate = rate_from_memory(*row.evidence.optimizer_bytes_read, *row.evidence.cache_bytes,
                                      exactly(*row.training->optimizer_ms));
  if (!is_impossible(rate, *most_bandwidth(row))) return {};
  return {fmt::format("its update would have read parameters, gradients and moments at {}/s; {}",
                      format_bytes(rate.low), most_bandwidth_words(row)),
          {}};
}

/// What the power is at least. The limit is of all that is drawn, whoever draws it: of the energy's uncertainty only
/// the meter's part counts, which in windows of 20 steps and updates is a tenth at most.
double least_power_w(const Record& row) {
  const Energy& energy = *row.energy;
  if (energy.energy_j.value_or(0) <= 0) return *energy.power_w;
  const double share = energy.energy_uncertainty_j.value_or(0) / *energy.energy_j;
  const bool is_long = energy.energy_short_share && *energy.energy_short_share == 0;
  return *energy.power_w * (1 - (is_long ? std::min(share, 0.1) : share));
}

Judgement says_power(const Cell&, const Record& row) {
  if (!row.energy->power_w || !row.energy->power_limit_w) return {};
  if (!is_impossible({least_power_w(row), *row.energy->power_w}, *row.energy->power_limit_w)) return {};
  const std::string least =
      row.energy->energy_uncertainty_j ? fmt::format(" (at least {} W)", format_significant(least_power_w(row))) : "";
  return {fmt::format("{} W{} is above 1.05x the limit of {} W", format_significant(*row.energy->power_w), least,
                      format_significant(*row.energy->power_limit_w)),
          {}};
}

/// A row of a store or a file that was found impossible where more of its cell was known.
Judgement says_judged(const Cell&, const Record& row) {
  if (row.outcome.status != Status::impossible) return {};
  return {row.outcome.reason.value_or("it was found impossible before, and no reason is kept"), {}};
}

Judgement says_size(const Cell& cell, const Record& row) {
  const Precision* precision = precision_row(row);
  if (!cell.baseline || !precision || is_overridden(row) || size_of(precision->weights) != 2) return {};
  if (!row.memory->model_bytes || !cell.baseline->memory->model_bytes ||
      *row.memory->model_bytes <= *cell.baseline->memory->model_bytes)
    return {};
  const Precision* base = precision_row(*cell.baseline);
  if (!base || size_of(base->weights) != 4) return {};
  return {fmt::format("a 16-bit model of {} is larger than {}'s {}",
                      megabytes(static_cast<double>(*row.memory->model_bytes)), cell.baseline->setting.precision,
                      megabytes(static_cast<double>(*cell.baseline->memory->model_bytes))),
          {}};
}

constexpr Rule gates[] = {
    {.id = "negative_duration",
     .kind = RuleKind::gate,
     .grade = Trust::d,
     .evidence = "raw_ms",
     .states = "A sample lasts no time, or less.",
     .judge = says_duration,
     .severity = Severity::high,
     .remedy = "Time the whole and its parts each with their own clock reads; never derive a phase by subtraction."},
    {.id = "instruction_peak",
     .kind = RuleKind::gate,
     .grade = Trust::d,
     .evidence = "median_ms, instruction_ms, peaks_measured_share",
     .states = "Faster than 1.05x what each matrix product's operands reach in an instruction from registers, row by "
               "row of the ledger.",
     .judge = says_instruction_peak,
     .severity = Severity::high,
     .remedy = "Synchronise the device before the clock stops, read the result, and check the ledger for the dtype "
               "that ran."},
    {.id = "bandwidth",
     .kind = RuleKind::gate,
     .grade = Trust::d,
     .evidence = "weight_bytes_read, kv_bytes_read, cache_bytes, bandwidth_high_bytes_per_s, median_ms",
     .states =
         "Weights (in decoding with keys and values) beyond the last-level cache read at above 1.05x the most that the "
         "readings of the bandwidth allow.",
     .judge = says_bandwidth,
     .severity = Severity::high,
     .remedy =
         "Synchronise before the clock stops, and make sure that each run reads its weights and no cached result."},
    {.id = "phase_peak",
     .kind = RuleKind::gate,
     .grade = Trust::d,
     .evidence = "forward_ms, forward_instruction_ms, backward_ms, backward_instruction_ms, peaks_measured_share",
     .states = "The same of a training step's forward or backward.",
     .judge = says_phase_peak,
     .severity = Severity::high,
     .remedy = "Synchronise the device before each clock reading, and read what each phase computed."},
    {.id = "phase_sum",
     .kind = RuleKind::gate,
     .grade = Trust::d,
     .evidence = "mean_forward_ms, mean_backward_ms, mean_optimizer_ms, mean_step_ms",
     .states = "The phases of a training step do not add up to it, within 1 %, or 0.2 ms between them.",
     .judge = says_phases,
     .severity = Severity::high,
     .remedy = "Time every phase and the whole by the same clock, in the same steps."},
    {.id = "update_bandwidth",
     .kind = RuleKind::gate,
     .grade = Trust::d,
     .evidence = "optimizer_bytes_read, cache_bytes, bandwidth_high_bytes_per_s, optimizer_ms",
     .states = "An update that reads what it must, beyond the caches, at above 1.05x the most that the readings of the "
               "bandwidth allow.",
     .judge = says_update_bandwidth,
     .severity = Severity::high,
     .remedy = "Check that the update ran over all parameters before its clock stopped."},
    {.id = "power_limit",
     .kind = RuleKind::gate,
     .grade = Trust::d,
     .evidence = "power_w, power_limit_w, energy_j, energy_uncertainty_j",
     .states =
         "Power above 1.05x the limit of the board, even where the energy is as low as the meter's uncertainty allows.",
     .judge = says_power,
     .severity = Severity::high,
     .remedy = "Check the unit, the window and the wrap-around of the counter, and that one device only was counted."},
    {.id = "size_16_bit",
     .kind = RuleKind::gate,
     .grade = Trust::d,
     .evidence = "model_bytes of the row and of the baseline",
     .states = "A 16-bit model larger than its 32-bit one; not asked of overrides by role.",
     .judge = says_size,
     .severity = Severity::high,
     .remedy = "Count bytes as stored: a cast that keeps its source holds both."},
    {.id = "judged_before",
     .kind = RuleKind::gate,
     .grade = Trust::d,
     .evidence = "status, reason",
     .states = "A row that was found impossible before stays so, also where what showed it is not here.",
     .judge = says_judged,
     .severity = Severity::high,
     .remedy = "See the row's reason."},
};

}  // namespace

std::span<const Rule> gate_rules() {
  return gates;
}

}  // namespace assay
