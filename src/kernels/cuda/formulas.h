#pragma once

#include "kernels/cuda/access.h"

/// What kernels compute of single values.
namespace assay::ASSAY_CUDA_NAMESPACE {

constexpr float sqrt_half = 0.70710678118654752F;
constexpr float sqrt_two_over_pi = 0.79788456080286536F;
constexpr float one_over_sqrt_two_pi = 0.39894228040143268F;

ON_DEVICE inline float activate(Activation activation, float x) {
  switch (activation) {
    case Activation::none:
      return x;
    case Activation::relu:
      return x <= 0 ? 0 : x;  // NaN stays NaN.
    case Activation::gelu_erf:
      return 0.5F * x * erfcf(-x * sqrt_half);
    case Activation::gelu_tanh:
      return 0.5F * x * (1 + tanhf(sqrt_two_over_pi * (x + 0.044715F * x * x * x)));
    case Activation::silu:
      return x / (1 + expf(-x));
    case Activation::tanh:
      return tanhf(x);
  }
  return x;
}

ON_DEVICE inline float activation_slope(Activation activation, float x) {
  switch (activation) {
    case Activation::none:
      return 1;
    case Activation::relu:
      return x > 0 ? 1 : 0;
    case Activation::gelu_erf:
      return 0.5F * erfcf(-x * sqrt_half) + x * expf(-0.5F * x * x) * one_over_sqrt_two_pi;
    case Activation::gelu_tanh: {
      const float t = tanhf(sqrt_two_over_pi * (x + 0.044715F * x * x * x));
      return 0.5F * (1 + t) + 0.5F * x * (1 - t * t) * sqrt_two_over_pi * (1 + 3 * 0.044715F * x * x);
    }
    case Activation::silu: {
      const float sigmoid = 1 / (1 + expf(-x));
      return sigmoid * (1 + x * (1 - sigmoid));
    }
    case Activation::tanh: {
      const float t = tanhf(x);
      return 1 - t * t;
    }
  }
  return 1;
}

/// cap tanh(x / cap); x where there is no cap. The slope is that at the x which gave y.
ON_DEVICE inline float soft_capped(float x, float cap) {
  return cap == 0 ? x : cap * tanhf(x / cap);
}
ON_DEVICE inline float soft_cap_slope(float y, float cap) {
  return cap == 0 ? 1 : 1 - y / cap * (y / cap);
}

struct RandomWords {
  std::uint32_t word[4];
};

/// Philox 4x32-10, as base/random.h has it for the host.
ON_DEVICE inline RandomWords philox_words(std::uint32_t key0, std::uint32_t key1, std::uint64_t stream,
                                          std::uint64_t block) {
  RandomWords c = {{static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32),
                    static_cast<std::uint32_t>(stream), static_cast<std::uint32_t>(stream >> 32)}};
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53U} * c.word[0];
    const std::uint64_t b = std::uint64_t{0xCD9E8D57U} * c.word[2];
    c = {{static_cast<std::uint32_t>(b >> 32) ^ c.word[1] ^ key0, static_cast<std::uint32_t>(b),
          static_cast<std::uint32_t>(a >> 32) ^ c.word[3] ^ key1, static_cast<std::uint32_t>(a)}};
    key0 += 0x9E3779B9U;
    key1 += 0xBB67AE85U;
  }
  return c;
}

/// Random bits of an element: the same as program/operation.h's random_bits.
ON_DEVICE inline std::uint32_t random_word(const std::int32_t* seed, std::int64_t stream, std::int64_t index) {
  const RandomWords words = philox_words(static_cast<std::uint32_t>(seed[0]), static_cast<std::uint32_t>(seed[1]),
                                         static_cast<std::uint64_t>(stream), static_cast<std::uint64_t>(index) / 4);
  return words.word[index % 4];
}

/// Those of eight neighbours: the same words, each block of four made once. `first`: a multiple of four.
struct RandomPack {
  RandomWords half[2];
  ON_DEVICE std::uint32_t operator[](int i) const { return half[i / 4].word[i % 4]; }
};
ON_DEVICE inline RandomPack random_pack(const std::int32_t* seed, std::int64_t stream, std::int64_t first) {
  const auto key0 = static_cast<std::uint32_t>(seed[0]);
  const auto key1 = static_cast<std::uint32_t>(seed[1]);
  const auto block = static_cast<std::uint64_t>(first) / 4;
  return {{philox_words(key0, key1, static_cast<std::uint64_t>(stream), block),
           philox_words(key0, key1, static_cast<std::uint64_t>(stream), block + 1)}};
}

/// Uniform in (0, 1), as base/random.h's.
ON_DEVICE inline float uniform_of(std::uint32_t bits) {
  return (static_cast<float>(bits >> 9) + 0.5F) * 0x1p-23F;
}

}  // namespace assay::ASSAY_CUDA_NAMESPACE
