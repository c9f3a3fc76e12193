// Included once for each instruction set, by each file that Highway compiles for several.
#if defined(ASSAY_KERNELS_CPU_VECTOR_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_KERNELS_CPU_VECTOR_MATH_INL_H_
#undef ASSAY_KERNELS_CPU_VECTOR_MATH_INL_H_
#else
#define ASSAY_KERNELS_CPU_VECTOR_MATH_INL_H_
#endif

#include <type_traits>

#include "kernels/cpu/math_coefficients.h"
#include "kernels/cpu/vector-inl.h"
#include "program/program.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

HWY_INLINE V32 constant(float value) {
  return hn::Set(f32_lanes, value);
}

// NaN stays NaN. On x86 Min and Max return their second argument where one is NaN, so that is where x stands; where
// Highway has no vectors, they return the one that is a number.
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
HWY_INLINE V32 at_least(V32 low, V32 x) {
  return hn::IfThenElse(hn::Lt(x, low), low, x);
}
HWY_INLINE V32 at_most(V32 high, V32 x) {
  return hn::IfThenElse(hn::Gt(x, high), high, x);
}
#else
HWY_INLINE V32 at_least(V32 low, V32 x) {
  return hn::Max(low, x);
}
HWY_INLINE V32 at_most(V32 high, V32 x) {
  return hn::Min(high, x);
}
#endif

/// c[0] + c[1] x + ... by Horner's rule.
template <std::size_t count>
HWY_INLINE V32 polynomial(const float (&c)[count], V32 x) {
  V32 sum = constant(c[count - 1]);
  for (std::size_t i = count - 1; i-- > 0;) sum = hn::MulAdd(sum, x, constant(c[i]));
  return sum;
}

/// 2^n for whole n in [-126, 127]. A factor, not a sum of exponents: so NaN stays NaN.
HWY_INLINE V32 power_of_two(V32 n) {
  const auto biased = hn::Add(hn::ConvertTo(s32_lanes, n), hn::Set(s32_lanes, 127));
  return hn::BitCast(f32_lanes, hn::ShiftLeft<23>(biased));
}

/// 2^x; 0 below -126. Relative error at most 1.5e-7 for x <= 127.
HWY_INLINE V32 exp2(V32 x) {
  const auto vanishes = hn::Lt(x, constant(-126.0F));
  const V32 inside = at_most(constant(127.0F), at_least(constant(-126.0F), x));
  const V32 whole = hn::Round(inside);
  const V32 power = polynomial(coefficients::exp2, hn::Sub(inside, whole));
  return hn::IfThenZeroElse(vanishes, hn::Mul(power, power_of_two(whole)));
}

/// e^x; 0 below -87.3, and 2^127 or so from 88 on. Relative error at most 2.5e-7.
HWY_INLINE V32 exp(V32 x) {
  const auto vanishes = hn::Lt(x, constant(-87.3F));
  const V32 inside = at_most(constant(88.0F), at_least(constant(-87.3F), x));
  const V32 whole = hn::Round(hn::Mul(inside, constant(coefficients::log2_e)));
  // ln 2 in two parts (Cody & Waite 1980), so that the small remainder keeps its bits.
  const V32 high = hn::NegMulAdd(whole, constant(coefficients::ln2_high), inside);
  const V32 rest = hn::NegMulAdd(whole, constant(coefficients::ln2_low), high);
  const V32 power = polynomial(coefficients::exp2, hn::Mul(rest, constant(coefficients::log2_e)));
  return hn::IfThenZeroElse(vanishes, hn::Mul(power, power_of_two(whole)));
}

/// Relative error at most 4e-7.
HWY_INLINE V32 tanh(V32 x) {
  const V32 magnitude = hn::Abs(x);
  const V32 square = hn::Mul(x, x);
  const V32 small = hn::MulAdd(hn::Mul(x, square), polynomial(coefficients::tanh, square), x);
  const V32 decay = exp(hn::Mul(magnitude, constant(-2.0F)));
  const V32 large = hn::Div(hn::Sub(constant(1.0F), decay), hn::Add(constant(1.0F), decay));
  return hn::IfThenElse(hn::Lt(magnitude, constant(coefficients::tanh_small)), small, hn::CopySign(large, x));
}

/// Relative error at most 4e-7.
HWY_INLINE V32 erf(V32 x) {
  const V32 limit = constant(coefficients::erf_limit);
  const V32 inside = at_most(limit, at_least(hn::Neg(limit), x));
  const V32 square = hn::Mul(inside, inside);
  const V32 ratio =
      hn::Div(polynomial(coefficients::erf_numerator, square), polynomial(coefficients::erf_denominator, square));
  return at_most(constant(1.0F), at_least(constant(-1.0F), hn::Mul(inside, ratio)));
}

/// 1 / (1 + e^-x)
HWY_INLINE V32 sigmoid(V32 x) {
  return hn::Div(constant(1.0F), hn::Add(constant(1.0F), exp(hn::Neg(x))));
}

/// f(x), and f'(x) in `slope`, from the same exponential; of relu at 0: 0.
template <Activation activation>
HWY_INLINE V32 activated_with_slope(V32 x, V32& slope) {
  const V32 one = constant(1.0F);
  if constexpr (activation == Activation::relu) {
    slope = hn::IfThenZeroElse(hn::Le(x, hn::Zero(f32_lanes)), one);
    return at_least(hn::Zero(f32_lanes), x);
  }
  if constexpr (activation == Activation::tanh) {
    const V32 value = tanh(x);
    slope = hn::NegMulAdd(value, value, one);
    return value;
  }
  if constexpr (activation == Activation::silu) {
    const V32 share = sigmoid(x);
    const V32 value = hn::Mul(x, share);
    slope = hn::MulAdd(value, hn::Sub(one, share), share);
    return value;
  }
  if constexpr (activation == Activation::gelu_erf) {
    const V32 half = hn::Mul(x, constant(0.5F));
    const V32 error = erf(hn::Mul(x, constant(coefficients::sqrt_half)));
    const V32 density = hn::Mul(exp(hn::Neg(hn::Mul(half, x))), constant(coefficients::one_over_sqrt_2_pi));
    slope = hn::MulAdd(x, density, hn::MulAdd(error, constant(0.5F), constant(0.5F)));
    return hn::MulAdd(half, error, half);
  }
  if constexpr (activation == Activation::gelu_tanh) {
    // (1 + tanh u) / 2 is the sigmoid of 2u: one exponential, and no cancellation on the left.
    const V32 cubed = hn::Mul(hn::Mul(x, x), x);
    const V32 twice_u = hn::Mul(hn::MulAdd(cubed, constant(0.044715F), x), constant(coefficients::two_sqrt_2_over_pi));
    const V32 share = sigmoid(twice_u);
    // Beyond 64 the sigmoid is 0 or 1, and x^3 must not make 0 * infinity of its slope.
    const V32 inside = at_most(constant(64.0F), at_least(constant(-64.0F), x));
    const V32 rise = hn::MulAdd(hn::Mul(inside, inside), constant(3 * 0.044715F * coefficients::two_sqrt_2_over_pi),
                                constant(coefficients::two_sqrt_2_over_pi));
    slope = hn::MulAdd(hn::Mul(hn::Mul(inside, share), hn::Sub(one, share)), rise, share);
    return hn::Mul(x, share);
  }
  slope = one;
  return x;
}

/// f(x) alone: what only the slope needs is not computed.
template <Activation activation>
HWY_INLINE V32 activated(V32 x) {
  V32 slope = hn::Zero(f32_lanes);
  return activated_with_slope<activation>(x, slope);
}

template <Activation activation>
using Kind = std::integral_constant<Activation, activation>;

/// use(Kind<activation>{}): the choice is made once, outside the loops.
template <typename Use>
HWY_INLINE void with_kind(Activation activation, Use&& use) {
  switch (activation) {
    case Activation::none:
      return use(Kind<Activation::none>{});
    case Activation::relu:
      return use(Kind<Activation::relu>{});
    case Activation::gelu_erf:
      return use(Kind<Activation::gelu_erf>{});
    case Activation::gelu_tanh:
      return use(Kind<Activation::gelu_tanh>{});
    case Activation::silu:
      return use(Kind<Activation::silu>{});
    case Activation::tanh:
      return use(Kind<Activation::tanh>{});
  }
}

/// use(f) with f(x) the activation.
template <typename Use>
HWY_INLINE void with_activation(Activation activation, Use&& use) {
  with_kind(activation,
            [&](auto kind) HWY_ATTR { use([](V32 x) HWY_ATTR { return activated<decltype(kind)::value>(x); }); });
}

/// use(f) with f(x, slope) the activation and its slope.
template <typename Use>
HWY_INLINE void with_slope(Activation activation, Use&& use) {
  with_kind(activation, [&](auto kind) HWY_ATTR {
    use([](V32 x, V32& slope) HWY_ATTR { return activated_with_slope<decltype(kind)::value>(x, slope); });
  });
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // ASSAY_KERNELS_CPU_VECTOR_MATH_INL_H_
