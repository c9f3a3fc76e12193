#include <cstring>

#include "kernels/cpu/cpu.h"
#include "kernels/cpu/targets.h"
#include "kernels/float8_scale.h"
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/round_float8.cc"
#include <hwy/foreach_target.h>
// clang-format on
#include "kernels/cpu/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

/// How values of one format are rounded in f32.
struct Float8Steps {
  explicit Float8Steps(DType dtype)
      : drop(dtype == DType::e4m3 ? 20 : 21),
        limit(float8_limit(dtype)),
        normal(dtype == DType::e4m3 ? 0x1p-6F : 0x1p-14F),
        step(dtype == DType::e4m3 ? 0x1p-9F : 0x1p-16F) {}
  int drop;      ///< Bits of f32's significand that the format lacks.
  float limit;   ///< The largest magnitude.
  float normal;  ///< The smallest normal number: below it values are multiples of
  float step;
};

/// Of magnitudes up to the limit, to nearest even: behind the last kept bit of normal numbers, in whole steps below.
HWY_INLINE V32 rounded_float8(V32 size, const Float8Steps& to) {
  const auto shift = static_cast<int>(to.drop);
  const W32 bits = hn::BitCast(u32_lanes, size);
  const W32 odd = hn::And(hn::ShiftRightSame(bits, shift), hn::Set(u32_lanes, 1));
  const W32 half = hn::Set(u32_lanes, (1U << (shift - 1)) - 1);
  const W32 kept = hn::Set(u32_lanes, ~((1U << shift) - 1));
  const V32 normal = hn::BitCast(f32_lanes, hn::And(hn::Add(hn::Add(bits, odd), half), kept));
  const V32 from = hn::Set(f32_lanes, to.step * 0x1p23F);
  const V32 small = hn::Sub(hn::Add(size, from), from);
  return hn::IfThenElse(hn::Lt(size, hn::Set(f32_lanes, to.normal)), small, normal);
}

/// What a part of a tensor saw, in vectors.
struct VectorSeen {
  V32 largest;
  double saturated;
  double flushed;

  HWY_INLINE static VectorSeen none() { return {hn::Zero(f32_lanes), 0, 0}; }
};

HWY_INLINE V32 finite_magnitude(V32 value) {
  return hn::IfThenElseZero(hn::IsFinite(value), hn::Abs(value));
}

HWY_INLINE float largest_of_stretch(Source x, std::int64_t width) {
  V32 most = hn::Zero(f32_lanes);
  for_vectors(width, [&](auto lanes, std::int64_t i)
                         HWY_ATTR { most = hn::Max(most, finite_magnitude(lanes.zero_beyond(lanes.get(x, i)))); });
  return max_of(most);
}

HWY_INLINE void round_stretch(Source x, Sink y, std::int64_t width, const Float8Steps& to, float scale,
                              VectorSeen& seen) {
  const V32 factor = hn::Set(f32_lanes, scale);
  const V32 back = hn::Set(f32_lanes, 1 / scale);
  const V32 limit = hn::Set(f32_lanes, to.limit);
  for_vectors(width, [&](auto lanes, std::int64_t i) HWY_ATTR {
    const V32 value = lanes.zero_beyond(lanes.get(x, i));
    const V32 size = finite_magnitude(value);
    const V32 scaled = hn::Mul(size, factor);
    const V32 rounded = hn::Mul(rounded_float8(hn::Min(scaled, limit), to), back);
    const V32 poison = hn::Mul(value, hn::Zero(f32_lanes));  // NaN where the value is not finite.
    lanes.put(hn::Add(hn::CopySign(rounded, value), hn::Abs(poison)), y, i);
    seen.largest = hn::Max(seen.largest, size);
    seen.saturated += static_cast<double>(hn::CountTrue(f32_lanes, hn::Gt(scaled, limit)));
    const auto vanishes = hn::And(hn::Gt(size, hn::Zero(f32_lanes)), hn::Eq(rounded, hn::Zero(f32_lanes)));
    seen.flushed += static_cast<double>(hn::CountTrue(f32_lanes, vanishes));
  });
}

/// Of rows [begin, end).
void largest_of_rows(const Call& call, const Memory& memory, std::int64_t begin, std::int64_t end, float* scratch) {
  const SourceRows x = source_rows(call, memory, 0);
  for (std::int64_t row = begin; row < end; ++row)
    scratch[0] = std::max(scratch[0], largest_of_stretch(x[row], call.in(0).width()));
}

HWY_INLINE void keep_seen(const VectorSeen& seen, float* scratch) {
  Float8Seen of_part = {max_of(seen.largest), seen.saturated, seen.flushed};
  std::memcpy(scratch, &of_part, sizeof(of_part));
}

/// By the scale that stands at the start of the workspace.
void round_rows(const Call& call, const Memory& memory, std::int64_t begin, std::int64_t end, float* scratch) {
  const SourceRows x = source_rows(call, memory, 0);
  const SinkRows y = sink_rows(call, memory, 0);
  const Float8Steps to(call.attributes.operand);
  const float scale = *reinterpret_cast<const float*>(memory.workspace);
  VectorSeen seen = VectorSeen::none();
  for (std::int64_t row = begin; row < end; ++row) round_stretch(x[row], y[row], call.in(0).width(), to, scale, seen);
  keep_seen(seen, scratch);
}

HWY_INLINE void round_tile(const Call& call, const Memory& memory, std::int64_t first_row, std::int64_t column,
                           VectorSeen& seen) {
  const SourceRows x = source_rows(call, memory, 0);
  const SinkRows y = sink_rows(call, memory, 0);
  const Float8Steps to(call.attributes.operand);
  const std::int64_t end = std::min(first_row + call.attributes.rows, call.in(0).rows());
  const std::int64_t width = std::min(call.attributes.width, call.in(0).width() - column);
  float largest = 0;
  for (std::int64_t row = first_row; row < end; ++row)
    largest = std::max(largest, largest_of_stretch(shifted(x[row], column), width));
  const float scale = float8_scale(call.attributes.operand, largest);
  for (std::int64_t row = first_row; row < end; ++row)
    round_stretch(shifted(x[row], column), shifted(y[row], column), width, to, scale, seen);
}

/// Of rows of tiles [begin, end).
void round_tiles(const Call& call, const Memory& memory, std::int64_t begin, std::int64_t end, float* scratch) {
  VectorSeen seen = VectorSeen::none();
  for (std::int64_t tiles = begin; tiles < end; ++tiles) {
    for (std::int64_t column = 0; column < call.in(0).width(); column += call.attributes.width)
      round_tile(call, memory, tiles * call.attributes.rows, column, seen);
  }
  keep_seen(seen, scratch);
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {

HWY_EXPORT(largest_of_rows);
HWY_EXPORT(round_rows);
HWY_EXPORT(round_tiles);

namespace {

static_assert(sizeof(Float8Seen) <= floats_a_line * sizeof(float));

/// The loops of one instruction set.
struct Float8Loops {
  RowKernel largest;
  RowKernel round;
  RowKernel tiles;
};

/// Runs on rows, or on rows of tiles. The workspace: a line for the scale, then one a part.
class RoundFloat8 {
 public:
  RoundFloat8(const Call& call, const Float8Loops& loops) : call_(call), loops_(loops) {}

  void operator()(const Memory& memory) const {
    auto* scale = reinterpret_cast<float*>(memory.workspace);
    const std::int64_t rows = call_.in(0).rows();
    float* history = memory.out<float>(1);
    if (history != nullptr && history != memory.in<float>(1))
      std::memcpy(history, memory.in<float>(1), float8_history_size * sizeof(float));
    if (call_.attributes.width == 0) {
      const float past = history == nullptr ? 0 : float8_past(history);
      *scale = float8_scale(call_.attributes.operand, past > 0 ? past : largest(memory));
      run(loops_.round, rows, call_.in(0).width(), memory);
    } else {
      const std::int64_t high = call_.attributes.rows;
      run(loops_.tiles, (rows + high - 1) / high, high * call_.in(0).width(), memory);
    }
    if (history != nullptr) keep_float8(seen(memory), rows * call_.in(0).width(), history);
  }

 private:
  std::int64_t parts() const { return std::max(call_.threads, 1); }
  static float* scratch(const Memory& memory, std::int64_t part) {
    return reinterpret_cast<float*>(memory.workspace) + (part + 1) * floats_a_line;
  }

  void run(RowKernel loop, std::int64_t units, std::int64_t elements, const Memory& memory) const {
    std::fill_n(scratch(memory, 0), parts() * floats_a_line, 0.0F);
    for_parts(units, elements, call_.threads, [&](std::int64_t part, std::int64_t begin, std::int64_t end) {
      loop(call_, memory, begin, end, scratch(memory, part));
    });
  }

  float largest(const Memory& memory) const {
    run(loops_.largest, call_.in(0).rows(), call_.in(0).width(), memory);
    float most = 0;
    for (std::int64_t part = 0; part < parts(); ++part) most = std::max(most, *scratch(memory, part));
    return most;
  }

  Float8Seen seen(const Memory& memory) const {
    Float8Seen all;
    for (std::int64_t part = 0; part < parts(); ++part) {
      Float8Seen one;
      std::memcpy(static_cast<void*>(&one), scratch(memory, part), sizeof(one));
      all = {std::max(all.largest, one.largest), all.saturated + one.saturated, all.flushed + one.flushed};
    }
    return all;
  }

  Call call_;
  Float8Loops loops_;
};

}  // namespace

Offer round_float8_vectors(const Call& call, const MachineFacts& facts) {
  if (const char* why = unfit_for_vectors(call)) return Declined{why};
  const char* target = choose_vector_target(facts);
  const Float8Loops loops = {HWY_DYNAMIC_DISPATCH(largest_of_rows), HWY_DYNAMIC_DISPATCH(round_rows),
                             HWY_DYNAMIC_DISPATCH(round_tiles)};
  Prepared prepared = vector_kernel(make_kernel(RoundFloat8(call, loops)), target);
  prepared.workspace_bytes = static_cast<std::size_t>((std::max(call.threads, 1) + 1) * floats_a_line) * sizeof(float);
  return emulating_float8(call, std::move(prepared));
}

}  // namespace assay::cpu
#endif
