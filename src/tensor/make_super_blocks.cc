#include "tensor/make_super_blocks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>

#include "tensor/line_fit.h"

namespace assay {
namespace {

constexpr std::size_t super_values = 256;

/// Tried scales of a group, over the one that covers its range.
constexpr float tried_shares[] = {1.0F, 0.95F, 0.9F, 0.85F, 0.8F, 1.05F};
/// Tried values of what all scales of a super-block are multiples of, over the one that reaches the largest.
constexpr float tried_units[] = {1.0F, 0.97F, 1.03F};

/// As line_through, but no minimum is below 0: these types hold none.
Lines refitted(const Lines& from, const CodeSums& sums, Four values, std::size_t count) {
  Lines line = line_through(sums, values, count);
  const auto is_below = line.minimum < 0;
  line.scale = is_below ? scale_through(sums) : line.scale;
  line.minimum = is_below ? Four{} : line.minimum;
  return rising_or(from, line);
}

Lines lines_of(Values x, CodeRange range) {
  Four low = x[0];
  Four high = x[0];
  Four values{};
  for (const Four value : x) {
    low = lesser(low, value);
    high = greater(high, value);
    values += value;
  }
  const Four minimum = greater(Four{}, -low);
  const Four span = greater(high, Four{}) + minimum;
  BestLines best;
  const Lines nothing{Four{}, minimum};
  best.consider(nothing, error_on(nothing, range, x));
  for (const float share : tried_shares) {
    Lines line{span * (share / range.high), minimum * share};
    for (int round = 0; round < 2; ++round) {
      const CodeSums sums = sums_on(line, range, x);
      best.consider(line, sums.error);
      line = refitted(line, sums, values, x.size());
    }
    best.consider(line, error_on(line, range, x));
  }
  return best.lines;
}

/// Value i of each of four neighbouring groups, the first of which begins at x.
template <std::size_t values>
std::array<Four, values> side_by_side(const float* x) {
  std::array<Four, values> result;
  for (std::size_t i = 0; i < values; ++i) result[i] = Four{x[i], x[values + i], x[2 * values + i], x[3 * values + i]};
  return result;
}

float largest_of(Four values) {
  return std::max(std::max(values[0], values[1]), std::max(values[2], values[3]));
}

float sum_of(Four values) {
  return (values[0] + values[1]) + (values[2] + values[3]);
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
constexpr std::size_t line_sets = line_groups / lanes;
constexpr float most_six_bits = 63;

/// Of a super-block, four groups at a time.
using LineValues = std::array<std::array<Four, line_values>, line_sets>;

/// A super-block in whole numbers.
struct CodedLines {
  f16 scale_unit{};
  f16 minimum_unit{};
  std::array<Four, line_sets> scales{};
  std::array<Four, line_sets> minima{};
  float error = std::numeric_limits<float>::infinity();

  Lines lines(std::size_t set) const { return {to_f32(scale_unit) * scales[set], to_f32(minimum_unit) * minima[set]}; }
  unsigned scale(std::size_t group) const { return static_cast<unsigned>(scales[group / lanes][group % lanes]); }
  unsigned minimum(std::size_t group) const { return static_cast<unsigned>(minima[group / lanes][group % lanes]); }
};

Four six_bits(Four values, float unit) {
  return unit == 0 ? Four{} : lesser(greater(nearest(values / unit), Four{}), all(most_six_bits));
}

/// Infinite where `value` is no number of six bits.
Four unless_beyond(Four value, Four error) {
  const auto is_beyond = (value < 0) | (value > most_six_bits);
  return is_beyond ? all(std::numeric_limits<float>::infinity()) : error;
}

/// Scales and minima of four groups with these units: those nearest to the lines, and their neighbours.
Four code_groups(Values x, CodeRange range, const Lines& wanted, std::size_t set, CodedLines& coded) {
  const float scale_unit = to_f32(coded.scale_unit);
  const float minimum_unit = to_f32(coded.minimum_unit);
  const Four scale = six_bits(wanted.scale, scale_unit);
  const Four minimum = six_bits(wanted.minimum, minimum_unit);
  BestLines best;
  for (const float s : {-1.0F, 0.0F, 1.0F}) {
    for (const float m : {-1.0F, 0.0F, 1.0F}) {
      const Lines tried{scale + s, minimum + m};
      const Four error = error_on({scale_unit * tried.scale, minimum_unit * tried.minimum}, range, x);
      best.consider(tried, unless_beyond(tried.scale, unless_beyond(tried.minimum, error)));
    }
  }
  coded.scales[set] = best.lines.scale;
  coded.minima[set] = best.lines.minimum;
  return best.error;
}

CodedLines coded_lines(const LineValues& x, CodeRange range) {
  std::array<Lines, line_sets> lines;
  Lines largest;
  for (std::size_t set = 0; set < line_sets; ++set) {
    lines[set] = lines_of(x[set], range);
    largest.scale = greater(largest.scale, lines[set].scale);
    largest.minimum = greater(largest.minimum, lines[set].minimum);
  }
  CodedLines best;
  for (const float unit : tried_units) {
    CodedLines tried;
    tried.scale_unit = half_of(largest_of(largest.scale) / most_six_bits * unit);
    tried.minimum_unit = half_of(largest_of(largest.minimum) / most_six_bits * unit);
    tried.error = 0;
    for (std::size_t set = 0; set < line_sets; ++set)
      tried.error += sum_of(code_groups(x[set], range, lines[set], set, tried));
    if (tried.error < best.error) best = tried;
  }
  return best;
}

/// As set_packed_groups in ggml_blocks.cc reads them.
void put_packed_groups(const CodedLines& coded, std::byte* block) {
  put_half(coded.scale_unit, 0, block);
  put_half(coded.minimum_unit, 2, block);
  for (std::size_t i = 0; i < 4; ++i) {
    const unsigned high_scale = coded.scale(i + 4);
    const unsigned high_minimum = coded.minimum(i + 4);
    block[4 + i] = static_cast<std::byte>(coded.scale(i) | (high_scale >> 4) << 6);
    block[8 + i] = static_cast<std::byte>(coded.minimum(i) | (high_minimum >> 4) << 6);
    block[12 + i] = static_cast<std::byte>((high_scale & 15U) | (high_minimum & 15U) << 4);
  }
}

using SuperCodes = std::array<std::uint8_t, super_values>;

/// Of four groups that lie one behind the other from codes[first] on, less the lowest.
void put_codes(const Lines& lines, CodeRange range, Values x, std::size_t first, SuperCodes& codes) {
  const Coder coder(lines, range);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const Four code = coder.code(x[i]) - range.low;
    for (std::size_t lane = 0; lane < lanes; ++lane)
      codes[first + lane * x.size() + i] = static_cast<std::uint8_t>(code[lane]);
  }
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
  LineValues values;
  for (std::size_t set = 0; set < line_sets; ++set)
    values[set] = side_by_side<line_values>(x + set * lanes * line_values);
  const CodedLines coded = coded_lines(values, range);
  put_packed_groups(coded, block);
  SuperCodes codes;
  for (std::size_t set = 0; set < line_sets; ++set)
    put_codes(coded.lines(set), range, values[set], set * lanes * line_values, codes);
  put_halves(codes, block + halves_at);
  if (fifth_bits_at == 0) return;
  for (std::size_t i = 0; i < super_values; ++i) {
    std::byte& bits = block[fifth_bits_at + i % 32];
    bits |= static_cast<std::byte>((codes[i] >> 4) << (i / 32));
  }
}

// ---- Q6_K: the scale of a group is d s, s of eight bits with a sign ----

constexpr std::size_t signed_groups = 16;
constexpr std::size_t values_of_signed_set = 16;
constexpr std::size_t signed_sets = signed_groups / lanes;
constexpr CodeRange six_bit_codes{-32, 31};
constexpr float most_scale = 127;

using SignedValues = std::array<std::array<Four, values_of_signed_set>, signed_sets>;

/// Without a minimum; the scale may be negative, since there is one code more below zero than above.
Four signed_scales(Values x) {
  Four largest{};
  Four power{};
  for (const Four value : x) {
    largest = greater(value, -value) > greater(largest, -largest) ? value : largest;
    power += value * value;
  }
  BestLines best;
  best.consider({}, power);
  for (const float share : {1.0F, 0.97F, 0.98F, 0.99F, 1.01F, 1.02F, 1.03F}) {
    const Lines line{largest / six_bit_codes.low * share, Four{}};
    const CodeSums sums = sums_on(line, six_bit_codes, x);
    best.consider(line, sums.error);
    const Lines fitted{scale_through(sums), Four{}};
    best.consider(fitted, error_on(fitted, six_bit_codes, x));
  }
  return best.lines.scale;
}

struct CodedScales {
  f16 unit{};
  std::array<Four, signed_sets> scales{};
  float error = std::numeric_limits<float>::infinity();
};

Four code_scales(Values x, Four wanted, std::size_t set, CodedScales& coded) {
  const float unit = to_f32(coded.unit);
  const Four lowest = all(-most_scale - 1);
  const Four highest = all(most_scale);
  const Four middle = unit == 0 ? Four{} : lesser(greater(nearest(wanted / unit), lowest), highest);
  BestLines best;
  for (const float step : {-1.0F, 0.0F, 1.0F}) {
    const Four scale = lesser(greater(middle + step, lowest), highest);
    best.consider({scale, Four{}}, error_on({unit * scale, Four{}}, six_bit_codes, x));
  }
  coded.scales[set] = best.lines.scale;
  return best.error;
}

CodedScales coded_scales(const SignedValues& x) {
  std::array<Four, signed_sets> wanted;
  float largest = 0;
  for (std::size_t set = 0; set < signed_sets; ++set) {
    wanted[set] = signed_scales(x[set]);
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      if (std::abs(wanted[set][lane]) > std::abs(largest)) largest = wanted[set][lane];
    }
  }
  CodedScales best;
  for (const float share : tried_units) {
    CodedScales tried;
    tried.unit = half_of(largest / -(most_scale + 1) * share);
    tried.error = 0;
    for (std::size_t set = 0; set < signed_sets; ++set)
      tried.error += sum_of(code_scales(x[set], wanted[set], set, tried));
    if (tried.error < best.error) best = tried;
  }
  return best;
}

/// Stretches of 128 values: bytes of 64 halves, bytes of 32 quarters for their upper two bits.
void put_six_bits(const SuperCodes& codes, std::byte* block) {
  for (std::size_t i = 0; i < super_values; ++i) {
    const std::size_t half = i / 128;
    const std::size_t in_half = i % 128;
    block[half * 64 + in_half % 64] |= static_cast<std::byte>((codes[i] & 15U) << (in_half < 64 ? 0 : 4));
    block[128 + half * 32 + in_half % 32] |= static_cast<std::byte>((codes[i] >> 4) << (2 * (in_half / 32)));
  }
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

void make_q6_k(const float* x, std::byte* block) {
  std::memset(block, 0, 210);
  if (!all_finite(x)) {
    std::memset(block + 192, 1, signed_groups);
    return put_poison(208, block);
  }
  SignedValues values;
  for (std::size_t set = 0; set < signed_sets; ++set)
    values[set] = side_by_side<values_of_signed_set>(x + set * lanes * values_of_signed_set);
  const CodedScales coded = coded_scales(values);
  put_half(coded.unit, 208, block);
  SuperCodes codes;
  for (std::size_t set = 0; set < signed_sets; ++set) {
    const Lines lines{to_f32(coded.unit) * coded.scales[set], Four{}};
    put_codes(lines, six_bit_codes, values[set], set * lanes * values_of_signed_set, codes);
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      const auto scale = static_cast<std::int8_t>(coded.scales[set][lane]);
      block[192 + set * lanes + lane] = static_cast<std::byte>(scale);
    }
  }
  put_six_bits(codes, block);
}

}  // namespace assay
