#include "tensor/make_super_blocks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>

#include "tensor/dtype.h"
#include "tensor/f16_scale.h"

namespace assay {
namespace {

constexpr std::size_t super_values = 256;
constexpr float largest_half = 65504;

/// Tried scales of a group, over the one that covers its range.
constexpr float tried_shares[] = {1.0F, 0.95F, 0.9F, 0.85F, 0.8F, 1.05F};
/// Tried values of what all scales of a super-block are multiples of, over the one that reaches the largest.
constexpr float tried_units[] = {1.0F, 0.97F, 1.03F};

using Values = std::span<const float>;

/// x[i] = scale q[i] - minimum
struct Line {
  float scale = 0;
  float minimum = 0;
};

/// Codes of a group, low <= q <= high.
struct CodeRange {
  float low;
  float high;
};

float nearest(float value) {
  return (value + 0x1.8p23F) - 0x1.8p23F;
}

float inverse_or_zero(float scale) {
  return std::abs(scale) < 0x1p-100F ? 0 : 1 / scale;
}

float code_on(const Line& line, CodeRange range, float inverse, float x) {
  return nearest(std::min(std::max((x + line.minimum) * inverse, range.low), range.high));
}

float error_on(const Line& line, CodeRange range, Values x) {
  const float inverse = inverse_or_zero(line.scale);
  const float* const values = x.data();
  const std::size_t count = x.size();
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::size_t i = 0; i < count; ++i) {
    const float rest = values[i] + line.minimum - line.scale * code_on(line, range, inverse, values[i]);
    sum += rest * rest;
  }
  return sum;
}

/// Keeps the line of least error.
struct BestLine {
  Values x;
  CodeRange range;
  Line line = {};
  float error = std::numeric_limits<float>::infinity();

  void consider(const Line& tried) {
    const float found = error_on(tried, range, x);
    if (!(found < error)) return;
    error = found;
    line = tried;
  }
};

/// The line through the codes that `from` gives, by least squares; its minimum is none below 0.
Line refitted(const Line& from, CodeRange range, Values x) {
  const float inverse = inverse_or_zero(from.scale);
  const float* const from_values = x.data();
  const std::size_t count = x.size();
  float codes = 0;
  float squares = 0;
  float values = 0;
  float products = 0;
#pragma omp simd reduction(+ : codes, squares, values, products)
  for (std::size_t i = 0; i < count; ++i) {
    const float code = code_on(from, range, inverse, from_values[i]);
    codes += code;
    squares += code * code;
    values += from_values[i];
    products += from_values[i] * code;
  }
  const auto n = static_cast<float>(count);
  const float determinant = n * squares - codes * codes;
  if (determinant <= 0) return from;
  Line line{(n * products - codes * values) / determinant, (codes * products - squares * values) / determinant};
  if (line.minimum < 0) line = {squares > 0 ? products / squares : 0, 0};
  return line.scale > 0 ? line : from;
}

BestLine line_of(Values x, CodeRange range) {
  BestLine best{x, range};
  const auto [low, high] = std::minmax_element(x.begin(), x.end());
  const float minimum = std::max(0.0F, -*low);
  const float span = std::max(*high, 0.0F) + minimum;
  best.consider({0, minimum});
  for (const float share : tried_shares) {
    Line line{span * share / range.high, minimum * share};
    for (int round = 0; round < 2; ++round) {
      best.consider(line);
      line = refitted(line, range, x);
    }
    best.consider(line);
  }
  return best;
}

f16 half_of(float value) {
  return to_f16(std::clamp(value, -largest_half, largest_half));
}

void put_half(f16 value, std::size_t offset, std::byte* block) {
  std::memcpy(block + offset, &value, sizeof(value));
}

bool all_finite(const float* x) {
  return std::all_of(x, x + super_values, [](float value) { return std::isfinite(value); });
}

/// What stands for "not a number" in every group of a block whose unit this is.
void put_poison(std::size_t offset, std::byte* block) {
  put_half(to_f16(std::numeric_limits<float>::quiet_NaN()), offset, block);
}

// ---- Q4_K and Q5_K: scale and minimum of a group are d s and dmin m, s and m of six bits ----

constexpr std::size_t line_groups = 8;
constexpr std::size_t line_values = 32;
constexpr float most_six_bits = 63;

/// A super-block in whole numbers.
struct CodedLines {
  f16 scale_unit{};
  f16 minimum_unit{};
  std::array<std::uint8_t, line_groups> scales{};
  std::array<std::uint8_t, line_groups> minima{};
  float error = std::numeric_limits<float>::infinity();

  Line line(std::size_t group) const {
    return {to_f32(scale_unit) * static_cast<float>(scales[group]),
            to_f32(minimum_unit) * static_cast<float>(minima[group])};
  }
};

Values group_of(const float* x, std::size_t group) {
  return {x + group * line_values, line_values};
}

float six_bits(float value, float unit) {
  return unit == 0 ? 0 : std::clamp(nearest(value / unit), 0.0F, most_six_bits);
}

/// Scale and minimum of one group with these units: those nearest to the line, and their neighbours.
float code_group(Values x, CodeRange range, const Line& wanted, std::size_t group, CodedLines& coded) {
  const float scale_unit = to_f32(coded.scale_unit);
  const float minimum_unit = to_f32(coded.minimum_unit);
  const float scale = six_bits(wanted.scale, scale_unit);
  const float minimum = six_bits(wanted.minimum, minimum_unit);
  float least = std::numeric_limits<float>::infinity();
  for (float s = std::max(0.0F, scale - 1); s <= std::min(most_six_bits, scale + 1); ++s) {
    for (float m = std::max(0.0F, minimum - 1); m <= std::min(most_six_bits, minimum + 1); ++m) {
      const float error = error_on({scale_unit * s, minimum_unit * m}, range, x);
      if (!(error < least)) continue;
      least = error;
      coded.scales[group] = static_cast<std::uint8_t>(s);
      coded.minima[group] = static_cast<std::uint8_t>(m);
    }
  }
  return least;
}

CodedLines coded_lines(const float* x, CodeRange range) {
  std::array<Line, line_groups> lines;
  Line largest;
  for (std::size_t g = 0; g < line_groups; ++g) {
    lines[g] = line_of(group_of(x, g), range).line;
    largest.scale = std::max(largest.scale, lines[g].scale);
    largest.minimum = std::max(largest.minimum, lines[g].minimum);
  }
  CodedLines best;
  for (const float unit : tried_units) {
    CodedLines tried;
    tried.scale_unit = half_of(largest.scale / most_six_bits * unit);
    tried.minimum_unit = half_of(largest.minimum / most_six_bits * unit);
    tried.error = 0;
    for (std::size_t g = 0; g < line_groups; ++g) tried.error += code_group(group_of(x, g), range, lines[g], g, tried);
    if (tried.error < best.error) best = tried;
  }
  return best;
}

/// As set_packed_groups in ggml_blocks.cc reads them.
void put_packed_groups(const CodedLines& coded, std::byte* block) {
  put_half(coded.scale_unit, 0, block);
  put_half(coded.minimum_unit, 2, block);
  for (std::size_t i = 0; i < 4; ++i) {
    const unsigned high_scale = coded.scales[i + 4];
    const unsigned high_minimum = coded.minima[i + 4];
    block[4 + i] = static_cast<std::byte>(coded.scales[i] | (high_scale >> 4) << 6);
    block[8 + i] = static_cast<std::byte>(coded.minima[i] | (high_minimum >> 4) << 6);
    block[12 + i] = static_cast<std::byte>((high_scale & 15U) | (high_minimum & 15U) << 4);
  }
}

using SuperCodes = std::array<std::uint8_t, super_values>;

SuperCodes codes_on_lines(const CodedLines& coded, CodeRange range, const float* x) {
  SuperCodes codes;
  for (std::size_t i = 0; i < super_values; ++i) {
    const Line line = coded.line(i / line_values);
    codes[i] = static_cast<std::uint8_t>(code_on(line, range, inverse_or_zero(line.scale), x[i]));
  }
  return codes;
}

/// Each 32 bytes: low halves are a group, high halves the next.
void put_halves(const SuperCodes& codes, std::byte* halves) {
  for (std::size_t at = 0; at < super_values; at += 64) {
    for (std::size_t i = 0; i < 32; ++i)
      halves[at / 2 + i] = static_cast<std::byte>((codes[at + i] & 15U) | (codes[at + 32 + i] & 15U) << 4);
  }
}

void make_lines(const float* x, CodeRange range, std::size_t fifth_bits_at, std::size_t halves_at, std::byte* block) {
  if (!all_finite(x)) return put_poison(0, block);
  const CodedLines coded = coded_lines(x, range);
  put_packed_groups(coded, block);
  const SuperCodes codes = codes_on_lines(coded, range, x);
  put_halves(codes, block + halves_at);
  if (fifth_bits_at == 0) return;
  for (std::size_t i = 0; i < super_values; ++i) {
    std::byte& bits = block[fifth_bits_at + i % 32];
    bits |= static_cast<std::byte>((codes[i] >> 4) << (i / 32));
  }
}

// ---- Q6_K: the scale of a group is d s, s of eight bits with a sign ----

constexpr std::size_t signed_groups = 16;
constexpr std::size_t signed_group_values = 16;
constexpr CodeRange six_bit_codes{-32, 31};
constexpr float most_scale = 127;

Values signed_group(const float* x, std::size_t group) {
  return {x + group * signed_group_values, signed_group_values};
}

/// Without a minimum; the scale may be negative, since there is one code more below zero than above.
float signed_scale(Values x) {
  BestLine best{x, six_bit_codes};
  best.consider({0, 0});
  const float largest =
      *std::max_element(x.begin(), x.end(), [](float a, float b) { return std::abs(a) < std::abs(b); });
  for (const float share : {1.0F, 0.97F, 0.98F, 0.99F, 1.01F, 1.02F, 1.03F}) {
    Line line{largest / six_bit_codes.low * share, 0};
    best.consider(line);
    const float inverse = inverse_or_zero(line.scale);
    float products = 0;
    float squares = 0;
    for (const float value : x) {
      const float code = code_on(line, six_bit_codes, inverse, value);
      products += value * code;
      squares += code * code;
    }
    if (squares > 0) best.consider({products / squares, 0});
  }
  return best.line.scale;
}

struct CodedScales {
  f16 unit{};
  std::array<std::int8_t, signed_groups> scales{};
  float error = std::numeric_limits<float>::infinity();
};

float code_scale(Values x, float wanted, std::size_t group, CodedScales& coded) {
  const float unit = to_f32(coded.unit);
  const float middle = unit == 0 ? 0 : std::clamp(nearest(wanted / unit), -most_scale - 1, most_scale);
  float least = std::numeric_limits<float>::infinity();
  for (float s = std::max(-most_scale - 1, middle - 1); s <= std::min(most_scale, middle + 1); ++s) {
    const float error = error_on({unit * s, 0}, six_bit_codes, x);
    if (!(error < least)) continue;
    least = error;
    coded.scales[group] = static_cast<std::int8_t>(s);
  }
  return least;
}

CodedScales coded_scales(const float* x) {
  std::array<float, signed_groups> wanted;
  float largest = 0;
  for (std::size_t g = 0; g < signed_groups; ++g) {
    wanted[g] = signed_scale(signed_group(x, g));
    if (std::abs(wanted[g]) > std::abs(largest)) largest = wanted[g];
  }
  CodedScales best;
  for (const float share : tried_units) {
    CodedScales tried;
    tried.unit = half_of(largest / -(most_scale + 1) * share);
    tried.error = 0;
    for (std::size_t g = 0; g < signed_groups; ++g) tried.error += code_scale(signed_group(x, g), wanted[g], g, tried);
    if (tried.error < best.error) best = tried;
  }
  return best;
}

}  // namespace

void make_q4_k(const float* x, std::byte* block) {
  std::memset(block, 0, 144);
  make_lines(x, {0, 15}, 0, 16, block);
}

void make_q5_k(const float* x, std::byte* block) {
  std::memset(block, 0, 176);
  make_lines(x, {0, 31}, 16, 48, block);
}

/// Stretches of 128 values: bytes of 64 halves, bytes of 32 quarters for their upper two bits.
void make_q6_k(const float* x, std::byte* block) {
  std::memset(block, 0, 210);
  if (!all_finite(x)) {
    std::memset(block + 192, 1, signed_groups);
    return put_poison(208, block);
  }
  const CodedScales coded = coded_scales(x);
  put_half(coded.unit, 208, block);
  std::memcpy(block + 192, coded.scales.data(), signed_groups);
  for (std::size_t i = 0; i < super_values; ++i) {
    const Line line{to_f32(coded.unit) * static_cast<float>(coded.scales[i / signed_group_values]), 0};
    const auto code = static_cast<unsigned>(code_on(line, six_bit_codes, inverse_or_zero(line.scale), x[i]) + 32);
    const std::size_t half = i / 128;
    const std::size_t in_half = i % 128;
    block[half * 64 + in_half % 64] |= static_cast<std::byte>((code & 15U) << (in_half < 64 ? 0 : 4));
    block[128 + half * 32 + in_half % 32] |= static_cast<std::byte>((code >> 4) << (2 * (in_half / 32)));
  }
}

}  // namespace assay
