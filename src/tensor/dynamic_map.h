#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

/// The 256 values that the codes of 8-bit optimizer states stand for, as multiples of a block's largest magnitude:
/// dynamic tree quantisation (Dettmers et al. 2022, "8-bit Optimizers via Block-wise Quantization"), as
/// create_dynamic_map(signed, max_exponent_bits = 7, total_bits = 8) of bitsandbytes/functional.py defines it. A decade
/// 10^(i - 7) .. 10^(i - 6), i = 0 .. 6, has n values, 2^i of each sign or 2^(i + 1) without: the middles of n equal
/// steps. 0 and 1 are values too; -1 is none. Made in f64 and rounded once, where bitsandbytes computes in f32: that
/// differs in the last two bits at most (tests/fixtures/block_adamw.json holds its arithmetic).
namespace assay {

namespace dynamic_map_detail {

constexpr int decades = 7;
constexpr double decade_end[decades] = {1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1};

constexpr double middle(int decade, int step, int steps) {
  return decade_end[decade] * (0.1 + 0.9 * (step + 0.5) / steps);
}

/// 0, the middles of all decades from below, 1.
template <std::size_t count>
constexpr std::array<float, count> magnitudes(int first_steps) {
  std::array<float, count> values = {};
  std::size_t at = 1;
  for (int decade = 0; decade < decades; ++decade) {
    const int steps = first_steps << decade;
    for (int step = 0; step < steps; ++step) values[at++] = static_cast<float>(middle(decade, step, steps));
  }
  values[at] = 1;
  return values;
}

/// Half way from each to the next; nothing is beyond the last.
template <std::size_t count>
constexpr std::array<float, count> halfways(const std::array<float, count>& values) {
  std::array<float, count> halves = {};
  for (std::size_t i = 0; i + 1 < count; ++i) halves[i] = (values[i] + values[i + 1]) * 0.5F;
  halves[count - 1] = std::numeric_limits<float>::infinity();
  return halves;
}

}  // namespace dynamic_map_detail

/// Magnitudes by their number, and where the next one is nearer. Of two that are equally near the smaller is taken
/// (bitsandbytes' search takes either).
template <std::size_t count>
struct DynamicMagnitudes {
  std::array<float, count> value;
  std::array<float, count> half;  ///< Above it the next one is nearer.

  /// Of the nearest to x, 0 <= x <= 1, by bisection.
  constexpr std::uint32_t nearest(float x) const {
    std::uint32_t low = 0;
    for (std::uint32_t high = count - 1; low < high;) {
      const std::uint32_t middle = (low + high) / 2;
      if (x > half[middle])
        low = middle + 1;
      else
        high = middle;
    }
    return low;
  }
};

template <std::size_t count>
constexpr DynamicMagnitudes<count> dynamic_magnitudes(int first_steps) {
  const auto values = dynamic_map_detail::magnitudes<count>(first_steps);
  return {values, dynamic_map_detail::halfways(values)};
}

/// Of the signed map, for means of gradients: code 127 is 0, 128 .. 255 are magnitudes 1 .. 128, and 126 .. 0 the
/// negatives of 1 .. 127.
inline constexpr auto signed_magnitudes = dynamic_magnitudes<129>(1);
/// Of the unsigned map, for means of squares: codes are their numbers.
inline constexpr auto unsigned_magnitudes = dynamic_magnitudes<256>(2);

constexpr std::uint32_t signed_zero = 127;

/// The code of a magnitude with a sign. What is negative stays so, as in bitsandbytes: it gets no code of 0.
constexpr std::uint32_t signed_code(std::uint32_t magnitude, bool negative) {
  if (!negative) return signed_zero + magnitude;
  const std::uint32_t known = magnitude < 1 ? 1 : magnitude;
  return signed_zero - (known > signed_zero ? signed_zero : known);
}

constexpr float signed_value(std::uint32_t code) {
  return code >= signed_zero ? signed_magnitudes.value[code - signed_zero]
                             : -signed_magnitudes.value[signed_zero - code];
}

/// Every value of the signed map by its code.
constexpr std::array<float, 256> signed_dynamic_map() {
  std::array<float, 256> values = {};
  for (std::uint32_t code = 0; code < values.size(); ++code) values[code] = signed_value(code);
  return values;
}
inline constexpr std::array<float, 256> signed_dynamic_values = signed_dynamic_map();

/// A magnitude's number without a search. Its f32's exponent and first 7 bits of significand name a bin of [0, 1];
/// within a bin the nearest changes once at most, so that `first` and one comparison with `half` find it.
struct MagnitudeBins {
  static constexpr int shift = 16;                     ///< Of the f32's bits.
  static constexpr std::int32_t base = 0x3400;         ///< The bin of 2^-23; what is below belongs to it.
  static constexpr std::int32_t last = 0x3f80 - base;  ///< The bin of 1.
  std::array<std::int32_t, last + 1> first;  ///< The nearest to the bin's lower end. s32, as vectors gather it.
};

template <std::size_t count>
constexpr MagnitudeBins magnitude_bins(const DynamicMagnitudes<count>& magnitudes) {
  MagnitudeBins bins = {};
  std::int32_t nearest = 0;
  for (std::int32_t bin = 1; bin <= MagnitudeBins::last; ++bin) {
    const float from =
        std::bit_cast<float>(static_cast<std::uint32_t>(bin + MagnitudeBins::base) << MagnitudeBins::shift);
    while (from > magnitudes.half[static_cast<std::size_t>(nearest)]) ++nearest;
    bins.first[static_cast<std::size_t>(bin)] = nearest;
  }
  return bins;
}
inline constexpr MagnitudeBins signed_bins = magnitude_bins(signed_magnitudes);
inline constexpr MagnitudeBins unsigned_bins = magnitude_bins(unsigned_magnitudes);

/// As DynamicMagnitudes::nearest, through the bins.
template <std::size_t count>
constexpr std::uint32_t nearest_by_bin(const DynamicMagnitudes<count>& magnitudes, const MagnitudeBins& bins, float x) {
  const auto bits = static_cast<std::int32_t>(std::bit_cast<std::uint32_t>(x) >> MagnitudeBins::shift);
  const std::int32_t bin = bits - MagnitudeBins::base;
  const std::int32_t known = bin < 0 ? 0 : bin > MagnitudeBins::last ? MagnitudeBins::last : bin;
  const auto first = static_cast<std::size_t>(bins.first[static_cast<std::size_t>(known)]);
  return static_cast<std::uint32_t>(first) + (x > magnitudes.half[first] ? 1 : 0);
}

}  // namespace assay
