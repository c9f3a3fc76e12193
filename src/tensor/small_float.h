#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstdint>
#include <limits>

namespace assay {

/// A binary float format of at most 19 bits: sign, exponent, mantissa, from the top. Infinity and NaN as IEEE 754 has
/// them, or (finite_only, as OCP's E4M3) no infinity and the all-ones pattern as the one NaN of each sign.
struct SmallFormat {
  int exponent_bits;
  int mantissa_bits;
  int bias;
  enum class Top : std::uint8_t { ieee, finite_only } top = Top::ieee;

  constexpr std::uint32_t sign_bit() const { return 1U << (exponent_bits + mantissa_bits); }
  /// Pattern of infinity; for finite_only formats the NaN pattern. Finite magnitudes are below it.
  constexpr std::uint32_t beyond() const {
    return top == Top::ieee ? ((1U << exponent_bits) - 1) << mantissa_bits : sign_bit() - 1;
  }
  constexpr std::uint32_t quiet_bit() const { return 1U << (mantissa_bits - 1); }
};

inline constexpr SmallFormat f16_format = {.exponent_bits = 5, .mantissa_bits = 10, .bias = 15};
inline constexpr SmallFormat bf16_format = {.exponent_bits = 8, .mantissa_bits = 7, .bias = 127};
inline constexpr SmallFormat tf32_format = {.exponent_bits = 8, .mantissa_bits = 10, .bias = 127};
inline constexpr SmallFormat e5m2_format = {.exponent_bits = 5, .mantissa_bits = 2, .bias = 15};
inline constexpr SmallFormat e4m3_format = {
    .exponent_bits = 4, .mantissa_bits = 3, .bias = 7, .top = SmallFormat::Top::finite_only};

/// The layout of the wide float that is rounded.
template <std::floating_point Wide>
struct WideFormat {
  static constexpr int mantissa_bits = std::numeric_limits<Wide>::digits - 1;
  static constexpr int bias = std::numeric_limits<Wide>::max_exponent - 1;
  using Bits = std::conditional_t<sizeof(Wide) == 4, std::uint32_t, std::uint64_t>;
};

/// `bits` shifted right by `drop` >= 1, rounded to nearest, ties to even.
template <std::unsigned_integral Bits>
constexpr Bits shift_right_rounded(Bits bits, int drop) {
  const Bits half = Bits{1} << (drop - 1);
  return (bits + (half - 1) + ((bits >> drop) & 1)) >> drop;
}

/// The pattern nearest to `value` in `format`, ties to even; one rounding whether Wide is float or double. Works on
/// integers alone, so it does not depend on the processor's rounding or flush-to-zero modes.
template <std::floating_point Wide>
constexpr std::uint32_t encode(Wide value, const SmallFormat& format) {
  using W = WideFormat<Wide>;
  using Bits = typename W::Bits;
  constexpr Bits wide_sign = Bits{1} << (sizeof(Bits) * 8 - 1);
  constexpr Bits one_exponent = Bits{1} << W::mantissa_bits;
  constexpr Bits wide_infinity = (wide_sign >> 1 | (wide_sign - 1)) & ~(one_exponent - 1) & ~wide_sign;
  const Bits bits = std::bit_cast<Bits>(value);
  const Bits magnitude = bits & ~wide_sign;
  const std::uint32_t sign = (bits & wide_sign) != 0 ? format.sign_bit() : 0;
  const int drop = W::mantissa_bits - format.mantissa_bits;
  if (magnitude > wide_infinity) {
    if (format.top == SmallFormat::Top::finite_only) return sign | format.beyond();
    const auto payload = static_cast<std::uint32_t>((magnitude & (one_exponent - 1)) >> drop);
    return sign | format.beyond() | format.quiet_bit() | payload;
  }
  const Bits rebias = static_cast<Bits>(W::bias - format.bias) << W::mantissa_bits;
  if (rebias == 0 || magnitude >= rebias + one_exponent) {
    // A carry out of the mantissa moves to the next exponent, and past the last one to `beyond`.
    const Bits rounded = shift_right_rounded<Bits>(magnitude - rebias, drop);
    return sign | (rounded < format.beyond() ? static_cast<std::uint32_t>(rounded) : format.beyond());
  }
  // Below the smallest normal of the format: align the full significand to its fixed exponent. Wide's own subnormals
  // come out as zero, as they should: they are far below half the smallest subnormal of the format.
  const Bits significand = (magnitude & (one_exponent - 1)) | one_exponent;
  const Bits below = ((rebias + one_exponent) >> W::mantissa_bits) - (magnitude >> W::mantissa_bits);
  if (below > static_cast<Bits>(format.mantissa_bits) + 1) return sign;
  return sign | static_cast<std::uint32_t>(shift_right_rounded<Bits>(significand, drop + static_cast<int>(below)));
}

/// The f32 of that pattern, exactly; NaN comes out quiet with its payload.
constexpr float decode(std::uint32_t bits, const SmallFormat& format) {
  const std::uint32_t sign = (bits & format.sign_bit()) != 0 ? 0x80000000U : 0;
  const std::uint32_t magnitude = bits & (format.sign_bit() - 1);
  const int widen = 23 - format.mantissa_bits;
  if (format.top == SmallFormat::Top::finite_only && magnitude == format.beyond()) {
    return std::bit_cast<float>(sign | 0x7fc00000U);
  }
  if (format.top == SmallFormat::Top::ieee && magnitude >= format.beyond()) {
    const std::uint32_t payload = (magnitude - format.beyond()) << widen;
    return std::bit_cast<float>(sign | 0x7f800000U | payload | (payload != 0 ? 0x400000U : 0));
  }
  const auto rebias = static_cast<std::uint32_t>(127 - format.bias);
  if (rebias == 0) return std::bit_cast<float>(sign | magnitude << widen);
  if (magnitude >> format.mantissa_bits != 0)
    return std::bit_cast<float>(sign | ((magnitude << widen) + (rebias << 23)));
  const float unit = std::bit_cast<float>((rebias + 1 - static_cast<std::uint32_t>(format.mantissa_bits)) << 23);
  const float value = static_cast<float>(magnitude) * unit;
  return sign != 0 ? -value : value;
}

/// Every value of an 8-bit format, by its bits.
constexpr std::array<float, 256> values_of(const SmallFormat& format) {
  std::array<float, 256> values = {};
  for (std::uint32_t bits = 0; bits < values.size(); ++bits) values[bits] = decode(bits, format);
  return values;
}
inline constexpr std::array<float, 256> e4m3_values = values_of(e4m3_format);

}  // namespace assay
