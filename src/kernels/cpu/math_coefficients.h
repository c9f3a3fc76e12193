#pragma once

/// Polynomials of the vectorised functions, lowest power first: minimax fits of ours (iteratively reweighted least
/// squares in f64), rounded to f32. The error of each fit stands beside it; that of a function, which rounding rules,
/// in vector_math_test.cc.
namespace assay::cpu::coefficients {

constexpr float log2_e = 1.44269504F;
constexpr float ln2_high = 0.693359375F;  ///< 9 bits: products with exponents are exact
constexpr float ln2_low = -2.12194440e-4F;
constexpr float sqrt_half = 0.707106781F;
constexpr float one_over_sqrt_2_pi = 0.398942280F;
constexpr float two_sqrt_2_over_pi = 1.59576912F;

/// 2^x on [-0.5, 0.5]; 1.9e-9 relative.
constexpr float exp2[] = {1.0F,
                          0.6931471824645996F,
                          0.24022646248340607F,
                          0.05550328642129898F,
                          0.009618489071726799F,
                          0.0013399930903688073F,
                          0.0001534581242594868F};

/// (tanh(x) / x - 1) / x^2 in x^2, for |x| < tanh_small; 4.2e-9 relative of tanh.
constexpr float tanh_small = 0.625F;
constexpr float tanh[] = {-0.3333328366279602F, 0.13331490755081177F, -0.05374349653720856F, 0.02065058797597885F,
                          -0.005717045161873102F};

/// erf(x) / x in x^2, for |x| <= erf_limit, where erf is 1 - 3e-8; 1.9e-8 relative.
constexpr float erf_limit = 3.92F;
constexpr float erf_numerator[] = {1.1283791065216064F,    0.1904076486825943F,     0.05274888500571251F,
                                   0.0037656687200069427F, 0.00028488400857895613F, 2.0500797290878836e-06F};
constexpr float erf_denominator[] = {1.0F,
                                     0.5020771026611328F,
                                     0.11410960555076599F,
                                     0.014969320967793465F,
                                     0.0011625482002273202F,
                                     3.809170448221266e-05F};

}  // namespace assay::cpu::coefficients
