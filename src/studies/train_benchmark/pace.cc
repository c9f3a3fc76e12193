#include "studies/train_benchmark/pace.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "statistics/statistics.h"
#include "studies/shared/plan_record.h"
#include "studies/train_benchmark/record.h"

namespace assay {
namespace {

/// The largest smaller step that ran in the same precision; null where none did.
const ReachedStep* nearest_reached(const TrainCell& cell, const Variant& variant, double flops) {
  const ReachedStep* nearest = nullptr;
  for (const ReachedStep& reached : cell.reached) {
    const bool alike = reached.precision == variant.options.precision.name() && reached.fusion == variant.fusion;
    if (!alike || reached.flops > flops) continue;
    if (nearest == nullptr || reached.flops > nearest->flops) nearest = &reached;
  }
  return nearest;
}

ExpectedTime at_reached_rate(const ReachedStep& reached, const TrainCell& cell, double flops) {
  const double parameters = static_cast<double>(cell.model.weights.parameters());
  return {reached.prepare_s * parameters / static_cast<double>(std::max<std::int64_t>(reached.parameters, 1)),
          reached.step_s * flops / reached.flops,
          fmt::format("at the {} GFLOP/s of {}, {} x {}", format_significant(reached.flops / reached.step_s * 1e-9),
                      reached.model, reached.extent.batch, reached.extent.seq)};
}

ExpectedTime at_matmul_peak(const TrainCell& cell, const Variant& variant, double flops) {
  const DType operand = variant.options.precision.row.operand;
  const MatmulPeak* peak = cell.facts.peak(operand);
  if (peak == nullptr || peak->matmul_gflops <= 0 || cell.facts.was_busy()) return {};
  return {0, flops / peak->matmul_gflops * 1e-9,
          fmt::format("at least, by the best {} matmul measured here, {} GFLOP/s", name(operand),
                      format_significant(peak->matmul_gflops))};
}

}  // namespace

double step_flops(const TrainCell& cell, const TrainingOptions& options) {
  const double forward = model_flops(cell.model, {}, cell.extent);
  return options.parts == StepParts::forward ? forward : 3 * forward;
}

ExpectedTime expected_time(const TrainCell& cell, const Variant& variant) {
  const double flops = step_flops(cell, variant.options);
  const ReachedStep* nearest = nearest_reached(cell, variant, flops);
  return nearest != nullptr ? at_reached_rate(*nearest, cell, flops) : at_matmul_peak(cell, variant, flops);
}

void refuse_what_is_slow(const TrainCell& cell, const ExpectedTime& expected, Variant& variant) {
  const auto count = static_cast<double>(most_warmup(cell.request) + cell.request.steps);
  if (expected.whole_s(count) <= cell.request.seconds) return;
  variant.status = Status::too_slow;
  variant.reason = fmt::format(
      "{:.0f} steps would take {} s{} {}, allowed are {} (--seconds)", count,
      format_significant(expected.whole_s(count)),
      expected.prepare_s > 0 ? fmt::format(" with {} s of preparation", format_significant(expected.prepare_s, 2)) : "",
      expected.by, format_significant(cell.request.seconds));
  variant.trainer.reset();
}

void note_reached(TrainCell& cell, const Variant& variant) {
  if (variant.steps.empty()) return;
  const std::vector<double> after_first = steps_ms(variant, 1);
  const double step_ms = after_first.empty() ? variant.steps.front().step_ms() : median(after_first);
  cell.reached.push_back({cell.model.name, variant.options.precision.name(), variant.fusion, cell.extent,
                          cell.model.weights.parameters(), step_flops(cell, variant.options), step_ms * 1e-3,
                          variant.prepare_ms * 1e-3});
}

}  // namespace assay
