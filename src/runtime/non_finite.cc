#include "runtime/non_finite.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/error.h"
#include "program/operation.h"

namespace assay {
namespace {

/// Which elements of a tensor belong to real tokens, and which values of them count.
struct Look {
  const SymbolicShape& shape;
  Extent extent;
  std::span<const std::uint8_t> real;  ///< (B, T); empty: all.
  bool may_be_minus_infinity = false;
};

Shape place_of(const Look& look, std::int64_t element) {
  Shape place(look.shape.size());
  for (std::size_t axis = look.shape.size(); axis-- > 0;) {
    const std::int64_t length = look.shape[axis].at(look.extent);
    place[axis] = element % length;
    element /= length;
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

/// The exponent bits of NaN and of infinity are all ones, and no other number's are.
bool are_finite(const float* values, std::int64_t count) {
  constexpr std::uint32_t exponent = 0x7f800000;
  constexpr std::int64_t block = 64;  // of a length that compilers know, so that they use vectors
  const auto is_bad = [](float value) {
    return (std::bit_cast<std::uint32_t>(value) & exponent) == exponent ? 1U : 0U;
  };
  std::uint32_t bad = 0;
  std::int64_t i = 0;
  for (; i + block <= count; i += block) {
    for (std::int64_t j = 0; j < block; ++j) bad |= is_bad(values[i + j]);
  }
  for (; i < count; ++i) bad |= is_bad(values[i]);
  return bad == 0;
}

/// `begin`: the first value's number in the tensor.
std::optional<NonFinite> first_in(const Look& look, const float* values, std::int64_t begin, std::int64_t count) {
  if (are_finite(values, count)) return std::nullopt;
  for (std::int64_t i = 0; i < count; ++i) {
    if (std::isfinite(values[i])) continue;
    if (look.may_be_minus_infinity && values[i] == -INFINITY) continue;
    Shape place = place_of(look, begin + i);
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

std::string words(const NonFiniteRun& run) {
  const std::string what = fmt::format("{} holds {}{}", run.output, word(run.found.value), at(run.found.place));
  if (run.path.empty()) return what + "; a second run was finite, so that no operation can be named";
  return fmt::format("{}; the first operation that made such a value is {} ({}), {}{}", what, run.path, run.operation,
                     word(run.first.value), at(run.first.place));
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
