#include "tensor/make_blocks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>

#include "base/error.h"

namespace assay {
namespace {

constexpr std::size_t most_group = 256;
constexpr float largest_f16 = 65504;

/// Tried ranges, as shares of the one that reaches the largest magnitude: what is cut off by a smaller one costs less
/// than finer steps gain, most often between 0.8 and 1. Of eight bits steps are so fine that cutting never pays.
constexpr float shares_of_four_bits[] = {1.0F, 1.15F,  1.1F,  1.05F,  0.975F, 0.95F, 0.925F,
                                         0.9F, 0.875F, 0.85F, 0.825F, 0.8F,   0.75F, 0.7F};
constexpr float shares_of_eight_bits[] = {1.0F, 1.002F, 0.998F, 0.996F};

/// The group as it is made.
struct Group {
  const float* x;
  std::int64_t count;
};

/// Codes that scale (q - zero) may have, less zero.
struct Levels {
  int zero = 0;
  float low = 0;
  float high = 0;
};

struct Made {
  float scale = 0;
  int zero = 0;
  float error = 0;
};

/// Rounds to nearest even, of values within +-2^22.
float whole(float value) {
  return (value + 0x1.8p23F) - 0x1.8p23F;
}

/// By values and conditions, which compilers make vectors of.
float code_of(float value, float inverse, float low, float high) {
  const float code = value * inverse;
  const float above = code < low ? low : code;
  return whole(above > high ? high : above);
}

/// Nothing where steps of that size are none.
float inverse_of(float scale) {
  return std::abs(scale) < 0x1p-100F ? 0 : 1 / scale;
}

float stored_scale(const BlockMaker& maker, float scale) {
  if (maker.scale != DType::f16) return scale;
  return to_f32(to_f16(std::clamp(scale, -largest_f16, largest_f16)));
}

/// Of the codes that are nearest with that scale.
float squared_error(const Group& group, float scale, const Levels& levels) {
  const float* x = group.x;
  const float low = levels.low;
  const float high = levels.high;
  const float inverse = inverse_of(scale);
  float error = 0;
#pragma omp simd reduction(+ : error)
  for (std::int64_t i = 0; i < group.count; ++i) {
    const float rest = x[i] - scale * code_of(x[i], inverse, low, high);
    error += rest * rest;
  }
  return error;
}

/// The scale with which the codes that `scale` gives leave the least error, and by how much the error is below the sum
/// of squares then.
struct Fitted {
  float scale = 0;
  float gain = -1;
  Levels levels;
};

Fitted fitted(const Group& group, float scale, const Levels& levels) {
  const float* x = group.x;
  const float low = levels.low;
  const float high = levels.high;
  const float inverse = inverse_of(scale);
  float products = 0;
  float squares = 0;
#pragma omp simd reduction(+ : products, squares)
  for (std::int64_t i = 0; i < group.count; ++i) {
    const float code = code_of(x[i], inverse, low, high);
    products += x[i] * code;
    squares += code * code;
  }
  if (squares == 0) return {scale, 0, levels};
  return {products / squares, products * products / squares, levels};
}

Made made_with(const BlockMaker& maker, const Group& group, float scale, const Levels& levels) {
  const float stored = stored_scale(maker, scale);
  return {stored, levels.zero, squared_error(group, stored, levels)};
}

Levels levels_of(const BlockMaker& maker, int zero) {
  return {zero, static_cast<float>(maker.lowest - zero), static_cast<float>(maker.highest - zero)};
}

/// The range from the smallest to the largest value, zero included.
struct Span {
  float low = 0;
  float high = 0;
};

Span span_of(const Group& group) {
  const auto [low, high] = std::minmax_element(group.x, group.x + group.count);
  return {std::min(*low, 0.0F), std::max(*high, 0.0F)};
}

/// The scale that the plain maximum has: without a stored zero the largest magnitude gets the code that is farthest
/// out, whichever its sign.
float plain_scale(const BlockMaker& maker, const Span& span) {
  if (maker.zero == Zero::stored) return (span.high - span.low) / static_cast<float>(maker.highest - maker.lowest);
  const float largest = -span.low > span.high ? span.low : span.high;
  return largest / static_cast<float>(maker.lowest);
}

int plain_zero(const BlockMaker& maker, const Span& span, float scale) {
  if (maker.zero == Zero::middle) return 0;
  const float above = std::min(-span.low * inverse_of(scale), static_cast<float>(maker.highest - maker.lowest));
  return maker.lowest + static_cast<int>(whole(above));
}

std::span<const float> shares_of(const BlockMaker& maker) {
  if (maker.highest - maker.lowest < 16) return shares_of_four_bits;
  return shares_of_eight_bits;
}

void search(const BlockMaker& maker, const Group& group, const Span& span, Made& best) {
  const float plain = plain_scale(maker, span);
  const int middle = plain_zero(maker, span, plain);
  const int reach = maker.zero == Zero::stored ? 1 : 0;
  Fitted most;
  for (int zero = std::max(middle - reach, maker.lowest); zero <= std::min(middle + reach, maker.highest); ++zero) {
    const Levels levels = levels_of(maker, zero);
    for (const float share : shares_of(maker)) {
      const Fitted one = fitted(group, plain * share, levels);
      if (one.gain > most.gain) most = one;
    }
  }
  const Made made = made_with(maker, group, most.scale, most.levels);
  if (made.error < best.error) best = made;
}

Made choose(const BlockMaker& maker, const Group& group, ScaleChoice choice) {
  const Span span = span_of(group);
  const float plain = plain_scale(maker, span);
  Made best = made_with(maker, group, plain, levels_of(maker, plain_zero(maker, span, plain)));
  if (choice == ScaleChoice::least_error && best.error > 0) search(maker, group, span, best);
  return best;
}

bool is_finite(const Group& group) {
  return std::all_of(group.x, group.x + group.count, [](float x) { return std::isfinite(x); });
}

void make_block(const BlockFormat& format, const Group& group, ScaleChoice choice, std::byte* block) {
  if (format.make != nullptr) return format.make(group.x, block);
  const BlockMaker& maker = *format.maker;
  std::array<std::int8_t, most_group> codes{};
  if (!is_finite(group)) return maker.write(std::numeric_limits<float>::quiet_NaN(), 0, codes.data(), block);
  const Made made = choose(maker, group, choice);
  const Levels levels = levels_of(maker, made.zero);
  for (std::int64_t i = 0; i < group.count; ++i) {
    const float code = code_of(group.x[i], inverse_of(made.scale), levels.low, levels.high);
    codes[static_cast<std::size_t>(i)] = static_cast<std::int8_t>(static_cast<int>(code) + made.zero);
  }
  maker.write(made.scale, made.zero, codes.data(), block);
}

}  // namespace

void make_blocks(const BlockFormat& format, const float* values, std::int64_t count, std::byte* blocks,
                 ScaleChoice choice) {
  ASSAY_ASSERT(format.make != nullptr || (format.maker != nullptr && format.group == format.elements));
  const std::int64_t whole_blocks = count / format.elements;
  for (std::int64_t i = 0; i < whole_blocks; ++i)
    make_block(format, {values + i * format.elements, format.elements}, choice, blocks + i * format.bytes);
  const std::int64_t left = count - whole_blocks * format.elements;
  if (left == 0) return;
  std::array<float, most_group> last{};
  std::copy_n(values + whole_blocks * format.elements, left, last.data());
  make_block(format, {last.data(), format.elements}, choice, blocks + whole_blocks * format.bytes);
}

}  // namespace assay
