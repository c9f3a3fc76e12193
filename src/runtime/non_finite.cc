#include "runtime/non_finite.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "program/operation.h"
#include "tensor/finite.h"

namespace assay {
namespace {

/// Which elements of a tensor belong to real tokens, and which values of them count.
struct Look {
  const SymbolicShape& shape;
  Extent extent;
  std::span<const std::uint8_t> real;  ///< (B, T); empty: all.
  bool may_be_minus_infinity = false;
};

Shape place_of(std::int64_t element, const Shape& shape) {
  Shape place(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    place[axis] = element % shape[axis];
    element /= shape[axis];
  }
  return place;
}

/// Rows and positions that an axis counts: B and T each by itself, or both as one, the factor innermost.
bool is_real(const Look& look, const Shape& place) {
  std::int64_t row = -1;
  std::vector<std::int64_t> positions;
  for (std::size_t axis = 0; axis < place.size(); ++axis) {
    const Dim& dim = look.shape[axis];
    if (dim.batch_power > 1 || dim.seq_power > 1) return true;
    const std::int64_t token = place[axis] / dim.factor;
    if (dim.batch_power == 1) row = dim.seq_power == 1 ? token / look.extent.seq : token;
    if (dim.seq_power == 1) positions.push_back(token % look.extent.seq);
  }
  if (row < 0) return true;
  return std::all_of(positions.begin(), positions.end(), [&](std::int64_t position) {
    return look.real[static_cast<std::size_t>(row * look.extent.seq + position)] != 0;
  });
}

/// `begin`: the first value's number in the tensor.
std::optional<NonFinite> first_in(const Look& look, const float* values, std::int64_t begin, std::int64_t count) {
  if (all_finite({DType::f32, {count}, reinterpret_cast<const std::byte*>(values)})) return std::nullopt;
  for (std::int64_t i = 0; i < count; ++i) {
    if (std::isfinite(values[i])) continue;
    if (look.may_be_minus_infinity && values[i] == -INFINITY) continue;
    Shape place = place_of(begin + i, concrete(look.shape, look.extent));
    if (look.real.empty() || is_real(look, place)) return NonFinite{values[i], std::move(place)};
  }
  return std::nullopt;
}

/// Some rows at a time: logits may be gigabytes.
std::optional<NonFinite> first_in(const Plan& plan, ValueId id, const Look& look) {
  constexpr std::int64_t values_at_a_time = 1 << 18;
  const Shape shape = concrete(look.shape, look.extent);
  const std::int64_t width = shape.back();
  const std::int64_t rows = width == 0 ? 0 : element_count(shape) / width;
  const std::int64_t most = std::max<std::int64_t>(1, values_at_a_time / std::max<std::int64_t>(width, 1));
  std::vector<float> values(static_cast<std::size_t>(std::min(most, rows) * width));
  for (std::int64_t row = 0; row < rows; row += most) {
    const Plan::RowSpan part = {row, std::min(most, rows - row)};
    plan.read_rows(id, part, values.data());
    if (auto found = first_in(look, values.data(), row * width, part.count * width)) return found;
  }
  return std::nullopt;
}

std::optional<NonFinite> first_made_by(const Plan& plan, const Node& node, std::span<const std::uint8_t> real) {
  for (const ValueId id : node.outputs) {
    if (id == no_value || plan.placement(id).offset < 0 || !is_float(plan.program().value(id).dtype)) continue;
    const Look look{plan.program().value(id).shape, plan.options().extent, real,
                    node.operation == &op::attention_scores};
    if (auto found = first_in(plan, id, look)) return found;
  }
  return std::nullopt;
}

const char* word(float value) {
  return std::isnan(value) ? "NaN" : value > 0 ? "+infinity" : "-infinity";
}

std::string at(const Shape& place) {
  return place.empty() ? "" : fmt::format(" at [{}]", fmt::join(place, ", "));
}

}  // namespace

std::string words(const std::string& tensor, const NonFinite& found) {
  return fmt::format("{} holds {}{}", tensor, word(found.value), at(found.place));
}

std::string words(const NonFiniteRun& run) {
  const std::string what = words(run.output, run.found);
  if (!run.was_run_again) return what;
  if (run.path.empty()) return what + "; a second run was finite, so that no operation can be named";
  return fmt::format("{}; the first operation that made such a value is {} ({}), {}{}", what, run.path, run.operation,
                     word(run.first.value), at(run.first.place));
}

std::optional<NonFinite> first_non_finite(const TensorView& tensor) {
  if (all_finite(tensor)) return std::nullopt;
  const float* values = tensor.as<float>();
  const float* found = std::find_if(values, values + tensor.count(), [](float value) { return !std::isfinite(value); });
  return NonFinite{*found, place_of(found - values, tensor.shape)};
}

NonFiniteRun trace_non_finite(const Plan& plan, const std::string& output, NonFinite found,
                              std::span<const std::uint8_t> real) {
  NonFiniteRun run{output, std::move(found), {}, {}, {}};
  for (const Step& step : plan.steps()) {
    const Node& node = plan.program().nodes[step.node];
    step.kernel->run({step.inputs, step.outputs, step.workspace});
    plan.device().wait();
    auto first = first_made_by(plan, node, real);
    if (!first) continue;
    run.path = node.path;
    run.operation = node.operation->name;
    run.first = std::move(*first);
    return run;
  }
  return run;
}

std::optional<NonFiniteRun> find_non_finite(const Plan& plan, const std::string& output,
                                            std::span<const std::uint8_t> real) {
  const ValueId id = plan.program().output(output);
  ASSAY_ASSERT(id != no_value && plan.placement(id).offset >= 0);
  auto found = first_in(plan, id, {plan.program().value(id).shape, plan.options().extent, real});
  if (!found) return std::nullopt;
  return trace_non_finite(plan, output, std::move(*found), real);
}

}  // namespace assay
