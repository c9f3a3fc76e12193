#include "studies/accumulate/run.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/random.h"
#include "tensor/small_float.h"

namespace assay {
namespace {

constexpr std::int64_t most_terms = 10'000'000;

/// `value` rounded once to the dtype.
float rounded(DType dtype, double value) {
  switch (dtype) {
    case DType::f16:
      return decode(encode(value, f16_format), f16_format);
    case DType::bf16:
      return decode(encode(value, bf16_format), bf16_format);
    default:
      ASSAY_ASSERT(dtype == DType::f32);
      return static_cast<float>(value);
  }
}

/// a + b of two values of the dtype, rounded once to the dtype. The sum is formed in f32 and rounded again, which is
/// innocuous: with p bits in the dtype and P in the wide sum, rounding twice equals rounding once for + and - where
/// P >= 2p + 2 (Figueroa 1995), and f32's 24 bits are 2 * 11 + 2 for f16 and more than 2 * 8 + 2 for bf16. Sums
/// below the normal range are multiples of the smallest subnormal, and so exact.
float add(DType dtype, float a, float b) {
  return dtype == DType::f32 ? a + b : rounded(dtype, static_cast<double>(a + b));
}

/// The next greater value of the dtype; magnitude >= 0.
double next_above(DType dtype, double magnitude) {
  const SmallFormat& format = dtype == DType::f16 ? f16_format : bf16_format;
  if (dtype == DType::f32) return std::nextafter(static_cast<float>(magnitude), std::numeric_limits<float>::infinity());
  return decode(encode(magnitude, format) + 1, format);
}

/// The next smaller value of the dtype; magnitude > 0.
double next_below(DType dtype, double magnitude) {
  const SmallFormat& format = dtype == DType::f16 ? f16_format : bf16_format;
  if (dtype == DType::f32) return std::nextafter(static_cast<float>(magnitude), 0.0F);
  return decode(encode(magnitude, format) - 1, format);
}

float sum_one_by_one(DType dtype, float addend, std::int64_t count) {
  float sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum = add(dtype, sum, addend);
  return sum;
}

/// The addition widens each stored addend itself, as f32 += f16 does.
template <typename Stored>
float sum_widening(Stored addend, std::int64_t count) {
  float sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += to_f32(addend);
  return sum;
}

/// The addends are converted as a tensor first, then added as f32.
float sum_converted(DType dtype, float addend, std::int64_t count) {
  const auto terms = static_cast<std::size_t>(count);
  std::vector<std::uint16_t> stored(terms);
  std::vector<float> widened(terms, addend);
  convert(DType::f32, widened.data(), dtype, stored.data(), terms);
  convert(dtype, stored.data(), DType::f32, widened.data(), terms);
  float sum = 0;
  for (const float term : widened) sum += term;
  return sum;
}

float sum_chunked(DType dtype, float addend, std::int64_t count, int chunk) {
  float sum = 0;
  for (std::int64_t done = 0; done < count; done += chunk) {
    sum += sum_one_by_one(dtype, addend, std::min<std::int64_t>(chunk, count - done));
  }
  return sum;
}

float sum_kahan(DType dtype, float addend, std::int64_t count) {
  float sum = 0;
  float lost = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const float term = add(dtype, addend, -lost);
    const float next = add(dtype, sum, term);
    lost = add(dtype, add(dtype, next, -sum), -term);
    sum = next;
  }
  return sum;
}

float sum_pairwise(DType dtype, float addend, std::int64_t count) {
  if (count == 1) return addend;
  return add(dtype, sum_pairwise(dtype, addend, count / 2), sum_pairwise(dtype, addend, count - count / 2));
}

/// One of the two neighbours of `magnitude` >= 0 in the dtype, the upper with probability (magnitude - lower) / gap.
/// The gap above the largest finite value is infinite, so a sum that reaches it stays there.
double rounded_stochastically(DType dtype, double magnitude, Random& random) {
  const double nearest = rounded(dtype, magnitude);
  if (nearest == magnitude || !std::isfinite(nearest)) return nearest;
  const double lower = nearest < magnitude ? nearest : next_below(dtype, nearest);
  const double upper = nearest > magnitude ? nearest : next_above(dtype, nearest);
  return random.next_uniform() < (magnitude - lower) / (upper - lower) ? upper : lower;
}

/// f64 holds each sum exactly before it is rounded: the last bits of sum and addend are at most
/// 24 + log2(most_terms) < 53 places apart.
float sum_stochastic(DType dtype, float addend, std::int64_t count, std::uint64_t seed) {
  Random random(seed);
  const double term = std::abs(static_cast<double>(addend));
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum = rounded_stochastically(dtype, sum + term, random);
  return std::copysign(static_cast<float>(sum), addend);
}

Stop cause_of(float sum, float addend, double half_ulp) {
  if (addend == 0) return Stop::zero_addend;
  if (!std::isfinite(sum)) return Stop::overflow;
  return std::abs(static_cast<double>(addend)) < half_ulp ? Stop::half_ulp : Stop::tie_to_even;
}

/// How many further steps from `next` add the same as the last two did, because all their results lie in one binade.
/// There every sum is a multiple of the binade's ulp, so each step rounds to the same multiple; where the addend is
/// half-way between two multiples, the first result is even and the following steps keep it even.
std::int64_t like_steps(double sum, double next, double third) {
  if (!std::isfinite(third) || third - next != next - sum) return 0;
  int exponent = 0;
  std::frexp(third, &exponent);
  const double top = std::ldexp(1.0, exponent);  // Of third's binade.
  if (std::abs(next) < top / 2) return 0;
  return static_cast<std::int64_t>((top - std::abs(next)) / std::abs(third - next)) - 1;
}

/// Some tens of real additions: a sum of equal terms passes at most 25 binades before half an ulp exceeds the addend.
Growth growth_of(DType dtype, float addend) {
  Growth growth;
  float sum = 0;
  for (float next = add(dtype, sum, addend); next != sum; next = add(dtype, sum, addend)) {
    const float third = add(dtype, next, addend);
    const std::int64_t skipped = std::max<std::int64_t>(0, like_steps(sum, next, third));
    growth.step += 1 + skipped;
    sum = next;
    if (skipped > 0)
      sum = static_cast<float>(next + static_cast<double>(skipped) * (static_cast<double>(third) - next));
  }
  ++growth.step;
  growth.sum = sum;
  if (std::isfinite(sum)) growth.half_ulp = (next_above(dtype, std::abs(sum)) - std::abs(sum)) / 2;
  growth.stop = cause_of(sum, addend, growth.half_ulp);
  return growth;
}

bool grows_step_by_step(Summation summation) {
  return summation == Summation::sequential || summation == Summation::implicit_cast ||
         summation == Summation::explicit_cast;
}

float sum_of(const AccumulateRow& row, const AccumulateRequest& request) {
  const auto addend = static_cast<float>(row.addend_value);
  switch (row.summation) {
    case Summation::sequential:
      return sum_one_by_one(row.accumulator, addend, request.count);
    case Summation::implicit_cast:
      return row.addend == DType::f16 ? sum_widening(to_f16(addend), request.count)
                                      : sum_widening(to_bf16(addend), request.count);
    case Summation::explicit_cast:
      return sum_converted(row.addend, addend, request.count);
    case Summation::chunked:
      return sum_chunked(row.addend, addend, request.count, request.chunk);
    case Summation::kahan:
      return sum_kahan(row.accumulator, addend, request.count);
    case Summation::pairwise:
      return sum_pairwise(row.accumulator, addend, request.count);
    case Summation::stochastic:
      return sum_stochastic(row.accumulator, addend, request.count, request.seed);
  }
  ASSAY_ASSERT(!"a way of adding");
  return 0;
}

struct Case {
  Summation summation;
  DType accumulator;
  DType addend;
};

std::vector<Case> cases() {
  constexpr DType dtypes[] = {DType::f32, DType::f16, DType::bf16};
  std::vector<Case> all;
  for (const DType dtype : dtypes) all.push_back({Summation::sequential, dtype, dtype});
  for (const DType addend : {DType::f16, DType::bf16}) {
    for (const Summation cast : {Summation::implicit_cast, Summation::explicit_cast}) {
      all.push_back({cast, DType::f32, addend});
    }
  }
  for (const DType dtype : dtypes) all.push_back({Summation::chunked, DType::f32, dtype});
  for (const Summation way : {Summation::kahan, Summation::pairwise, Summation::stochastic}) {
    for (const DType dtype : dtypes) all.push_back({way, dtype, dtype});
  }
  return all;
}

AccumulateRow row_of(const Case& one, const AccumulateRequest& request) {
  const auto count = static_cast<double>(request.count);
  AccumulateRow row = {.summation = one.summation, .accumulator = one.accumulator, .addend = one.addend};
  row.addend_value = rounded(one.addend, request.addend);
  row.expected = count * request.addend;
  row.result = sum_of(row, request);
  row.error = row.result - row.expected;
  row.representation_error = count * row.addend_value - row.expected;
  row.accumulation_error = row.result - count * row.addend_value;
  if (grows_step_by_step(one.summation)) {
    row.growth = growth_of(one.accumulator, static_cast<float>(row.addend_value));
  }
  return row;
}

void check_accumulation(const AccumulateRequest& request) {
  const double magnitude = std::abs(request.addend);
  if (!(magnitude > 0 && magnitude <= std::numeric_limits<float>::max())) {
    fail_user("--addend {}: a number other than 0 within f32's range is needed", request.addend);
  }
  if (request.count < 1 || request.count > most_terms) {
    fail_user("--count {}: 1 to {} is possible", request.count, most_terms);
  }
  if (request.chunk < 1) fail_user("--chunk {}: at least 1 is needed", request.chunk);
}

}  // namespace

const char* name(Summation summation) {
  constexpr const char* names[] = {"sequential", "implicit cast", "explicit cast", "chunked",
                                   "kahan",      "pairwise",      "stochastic"};
  return names[static_cast<std::size_t>(summation)];
}

const char* name(Stop stop) {
  constexpr const char* names[] = {"half ulp", "tie to even", "overflow", "zero addend"};
  return names[static_cast<std::size_t>(stop)];
}

std::vector<AccumulateRow> accumulate_rows(const AccumulateRequest& request) {
  check_accumulation(request);
  std::vector<AccumulateRow> rows;
  for (const Case& one : cases()) rows.push_back(row_of(one, request));
  return rows;
}

const AccumulateRow& find_row(const std::vector<AccumulateRow>& rows, Summation summation, DType accumulator,
                              DType addend) {
  const auto found = std::ranges::find_if(rows, [&](const AccumulateRow& row) {
    return row.summation == summation && row.accumulator == accumulator && row.addend == addend;
  });
  ASSAY_ASSERT(found != rows.end());
  return *found;
}

}  // namespace assay
