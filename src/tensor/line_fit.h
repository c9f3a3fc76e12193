#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>
#include <span>

#include "tensor/dtype.h"
#include "tensor/f16_scale.h"

namespace assay {

// Lines scale * code - minimum through the values of groups, by least squares: what makers of packed types search with.

/// A value of each of four groups: groups are searched side by side, so that sums over a group cross no lanes and are
/// the same on every machine.
using Four = float __attribute__((vector_size(16)));
constexpr std::size_t lanes = 4;

inline Four all(float value) {
  return Four{} + value;
}

inline Four lesser(Four a, Four b) {
  return a < b ? a : b;
}

inline Four greater(Four a, Four b) {
  return a > b ? a : b;
}

/// Value i of each of the groups.
using Values = std::span<const Four>;

/// x[i] = scale q[i] - minimum
struct Lines {
  Four scale{};
  Four minimum{};
};

/// Codes of a group, low <= q <= high.
struct CodeRange {
  float low;
  float high;
};

template <typename Number>
Number nearest(Number value) {
  return (value + 0x1.8p23F) - 0x1.8p23F;
}

inline Four inverse_or_zero(Four scale) {
  const auto is_nothing = greater(scale, -scale) < 0x1p-100F;
  return is_nothing ? Four{} : 1 / (is_nothing ? all(1) : scale);
}

/// What gives codes on lines.
struct Coder {
  Lines lines;
  Four inverse;
  Four low;
  Four high;

  Coder(const Lines& of, CodeRange range)
      : lines(of), inverse(inverse_or_zero(of.scale)), low(all(range.low)), high(all(range.high)) {}

  Four code(Four x) const { return nearest(lesser(greater((x + lines.minimum) * inverse, low), high)); }
  Four rest(Four x, Four code) const { return x + lines.minimum - lines.scale * code; }
};

inline Four error_on(const Lines& lines, CodeRange range, Values x) {
  const Coder coder(lines, range);
  Four sum{};
  for (const Four value : x) {
    const Four rest = coder.rest(value, coder.code(value));
    sum += rest * rest;
  }
  return sum;
}

/// Keeps the line of least error of each group.
struct BestLines {
  Lines lines = {};
  Four error = all(std::numeric_limits<float>::infinity());

  void consider(const Lines& tried, Four found) {
    const auto is_better = found < error;
    error = is_better ? found : error;
    lines.scale = is_better ? tried.scale : lines.scale;
    lines.minimum = is_better ? tried.minimum : lines.minimum;
  }
};

/// Sums over codes that lines give, and the error of these.
struct CodeSums {
  Four codes{};
  Four squares{};
  Four products{};
  Four error{};
};

inline CodeSums sums_on(const Lines& lines, CodeRange range, Values x) {
  const Coder coder(lines, range);
  CodeSums sums;
  for (const Four value : x) {
    const Four code = coder.code(value);
    const Four rest = coder.rest(value, code);
    sums.codes += code;
    sums.squares += code * code;
    sums.products += value * code;
    sums.error += rest * rest;
  }
  return sums;
}

/// Least squares without a minimum; nothing where all codes are.
inline Four scale_through(const CodeSums& sums) {
  const auto has_codes = sums.squares > 0;
  return has_codes ? sums.products / (has_codes ? sums.squares : all(1)) : Four{};
}

/// Both by least squares, `values`: sums of x; a scale of 0 where all codes are the same.
inline Lines line_through(const CodeSums& sums, Four values, std::size_t count) {
  const Four n = all(static_cast<float>(count));
  const Four determinant = n * sums.squares - sums.codes * sums.codes;
  const auto is_sound = determinant > 0;
  const Four divisor = is_sound ? determinant : all(1);
  const Four scale = (n * sums.products - sums.codes * values) / divisor;
  const Four minimum = (sums.codes * sums.products - sums.squares * values) / divisor;
  return {is_sound ? scale : Four{}, is_sound ? minimum : Four{}};
}

/// The line where its scale is above 0, else that which it came from.
inline Lines rising_or(const Lines& from, const Lines& line) {
  const auto is_taken = line.scale > 0;
  return {is_taken ? line.scale : from.scale, is_taken ? line.minimum : from.minimum};
}

/// The finite number of 16 bits that is nearest.
inline f16 half_of(float value) {
  constexpr float largest_half = 65504;
  return to_f16(std::clamp(value, -largest_half, largest_half));
}

inline void put_half(f16 value, std::size_t offset, std::byte* block) {
  std::memcpy(block + offset, &value, sizeof(value));
}

}  // namespace assay
