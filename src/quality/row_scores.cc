#include "quality/row_scores.h"

// AVX-512, AVX2 and the baseline only: others would cost build time, and no machine runs faster by them.
#define HWY_DISABLED_TARGETS ((1 << 4) | (1 << 6) | (1 << 7) | (1 << 11) | (1 << 12))
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "quality/row_scores.cc"
#include <hwy/foreach_target.h>
// clang-format on
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

HWY_BEFORE_NAMESPACE();
namespace assay::softmax_rows::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using F32 = hn::ScalableTag<float>;
using F64 = hn::ScalableTag<double>;
using HalfF32 = hn::Rebind<float, F64>;  // as many floats as there are f64 lanes
using V64 = hn::Vec<F64>;
constexpr F32 f32_lanes;
constexpr F64 f64_lanes;

/// e^x for x <= 0, at least e^-708 (the smallest power of e that is no subnormal number); NaN for NaN.
///
/// x = n ln 2 + r with |r| <= ln(2) / 2; the series of e^r to r^11 leaves 0.3466^12 / 12! = 6e-15 (Cody & Waite 1980
/// for the two-part ln 2). n is taken from the low bits of x / ln 2 + 1.5 * 2^52, where they are an integer.
HWY_INLINE V64 exponential(V64 x) {
  const auto lowest = hn::Set(f64_lanes, -708.0);
  const auto shift = hn::Set(f64_lanes, 6755399441055744.0);
  x = hn::IfThenElse(hn::Lt(x, lowest), lowest, x);
  const auto shifted = hn::MulAdd(x, hn::Set(f64_lanes, 1.4426950408889634), shift);
  const auto n = hn::Sub(shifted, shift);
  auto r = hn::NegMulAdd(n, hn::Set(f64_lanes, 0x1.62e42fefa38p-1), x);
  r = hn::NegMulAdd(n, hn::Set(f64_lanes, 0x1.ef35793c7673p-45), r);
  constexpr double inverse_factorials[] = {1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040, 1.0 / 720, 1.0 / 120,
                                           1.0 / 24,      1.0 / 6,      1.0 / 2,     1.0,        1.0};
  auto sum = hn::Set(f64_lanes, 1.0 / 39916800);
  for (const double factor : inverse_factorials) sum = hn::MulAdd(sum, r, hn::Set(f64_lanes, factor));
  const hn::RebindToSigned<F64> integers;
  const auto power = hn::ShiftLeft<52>(hn::BitCast(integers, shifted));
  return hn::BitCast(f64_lanes, hn::Add(hn::BitCast(integers, sum), power));
}

HWY_INLINE V64 widened(const float* from) {
  return hn::PromoteTo(f64_lanes, hn::LoadU(HalfF32(), from));
}

/// body(i, number of elements) for each vector of f64 lanes in a row; the last one may have fewer elements than lanes.
template <typename Body>
HWY_INLINE void for_parts(std::size_t count, Body&& body) {
  const std::size_t step = hn::Lanes(f64_lanes);
  std::size_t i = 0;
  for (; i + step <= count; i += step) body(i, step);
  if (i < count) body(i, count - i);
}

/// `count` floats from `row` on, and `filling` in the lanes past them.
HWY_INLINE V64 load_part(const float* row, std::size_t count, float filling) {
  if (count == hn::Lanes(f64_lanes)) return widened(row);
  alignas(64) float part[HWY_MAX_BYTES / sizeof(double)];
  std::fill(std::begin(part), std::end(part), filling);
  std::copy(row, row + count, part);
  return widened(part);
}

float largest(const float* row, std::size_t count) {
  const std::size_t step = hn::Lanes(f32_lanes);
  auto most = hn::Set(f32_lanes, row[0]);
  std::size_t i = 0;
  for (; i + step <= count; i += step) most = hn::Max(most, hn::LoadU(f32_lanes, row + i));
  float result = hn::GetLane(hn::MaxOfLanes(f32_lanes, most));
  for (; i < count; ++i) result = std::max(result, row[i]);
  return result;
}

/// Zero times NaN or infinity is NaN, and a sum keeps it.
bool are_finite(const float* row, std::size_t count) {
  const std::size_t step = hn::Lanes(f32_lanes);
  const auto zero = hn::Zero(f32_lanes);
  auto sum = zero;
  std::size_t i = 0;
  for (; i + step <= count; i += step) sum = hn::MulAdd(hn::LoadU(f32_lanes, row + i), zero, sum);
  float total = hn::GetLane(hn::SumOfLanes(f32_lanes, sum));
  for (; i < count; ++i) total += 0 * row[i];
  return total == 0;
}

std::size_t first_equal(const float* row, std::size_t count, float value) {
  const std::size_t step = hn::Lanes(f32_lanes);
  const auto wanted = hn::Set(f32_lanes, value);
  std::size_t i = 0;
  for (; i + step <= count; i += step) {
    if (!hn::AllFalse(f32_lanes, hn::Eq(wanted, hn::LoadU(f32_lanes, row + i)))) break;
  }
  while (i < count && row[i] != value) ++i;
  return i == count ? 0 : i;
}

RowScore score(const float* row, std::size_t count) {
  const float highest = largest(row, count);
  const auto shift = hn::Set(f64_lanes, static_cast<double>(highest));
  constexpr float nothing = -std::numeric_limits<float>::infinity();
  auto sum = hn::Zero(f64_lanes);
  for_parts(count, [&](std::size_t i, std::size_t real) HWY_ATTR {
    sum = hn::Add(sum, exponential(hn::Sub(load_part(row + i, real, nothing), shift)));
  });
  const double total = hn::GetLane(hn::SumOfLanes(f64_lanes, sum));
  return {std::log(total) + static_cast<double>(highest), static_cast<std::int64_t>(first_equal(row, count, highest)),
          are_finite(row, count)};
}

Divergence diverge(const ScoredRow& p, const ScoredRow& q) {
  const auto p_log_sum = hn::Set(f64_lanes, p.score.log_sum);
  const auto q_log_sum = hn::Set(f64_lanes, q.score.log_sum);
  auto kl = hn::Zero(f64_lanes);
  auto difference = hn::Zero(f64_lanes);
  auto magnitude = hn::Zero(f64_lanes);
  for_parts(p.logits.size(), [&](std::size_t i, std::size_t real) HWY_ATTR {
    const auto p_logits = load_part(p.logits.data() + i, real, 0);
    const auto q_logits = load_part(q.logits.data() + i, real, 0);
    const auto log_p = hn::Sub(p_logits, p_log_sum);
    const auto term = hn::Mul(exponential(log_p), hn::Sub(log_p, hn::Sub(q_logits, q_log_sum)));
    kl = hn::Add(kl, hn::IfThenElseZero(hn::FirstN(f64_lanes, real), term));
    difference = hn::Max(difference, hn::Abs(hn::Sub(p_logits, q_logits)));
    magnitude = hn::Max(magnitude, hn::Abs(p_logits));
  });
  const double total = hn::GetLane(hn::SumOfLanes(f64_lanes, kl));
  return {total < 0 ? 0 : total, hn::GetLane(hn::MaxOfLanes(f64_lanes, difference)),
          hn::GetLane(hn::MaxOfLanes(f64_lanes, magnitude))};
}

}  // namespace assay::softmax_rows::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay {
namespace softmax_rows {
HWY_EXPORT(score);
HWY_EXPORT(diverge);
}  // namespace softmax_rows

RowScore score_row(std::span<const float> logits) {
  using namespace softmax_rows;
  return HWY_DYNAMIC_DISPATCH(score)(logits.data(), logits.size());
}

Divergence diverge_row(const ScoredRow& p, const ScoredRow& q) {
  using namespace softmax_rows;
  return HWY_DYNAMIC_DISPATCH(diverge)(p, q);
}

std::uint64_t hash_row(std::span<const float> logits) {
  constexpr std::size_t streams = 8;
  std::uint64_t hashes[streams];
  std::fill(std::begin(hashes), std::end(hashes), hash_start);
  const std::size_t pairs = logits.size() / 2;
  std::size_t i = 0;
  for (; i + streams <= pairs; i += streams) {
    std::uint64_t words[streams];
    std::memcpy(words, logits.data() + 2 * i, sizeof(words));
    for (std::size_t s = 0; s < streams; ++s) hashes[s] = hash_step(hashes[s], words[s]);
  }
  std::uint64_t hash = hash_start;
  for (const std::uint64_t stream : hashes) hash = hash_step(hash, stream);
  for (std::size_t f = 2 * i; f < logits.size(); ++f) {
    std::uint32_t word = 0;
    std::memcpy(&word, logits.data() + f, sizeof(word));
    hash = hash_step(hash, word);
  }
  return hash;
}

}  // namespace assay
#endif
