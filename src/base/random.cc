#include "base/random.h"

#include <cmath>
#include <numbers>

namespace assay {
namespace {

struct Product {
  std::uint32_t high;
  std::uint32_t low;
};

Product multiply(std::uint32_t a, std::uint32_t b) {
  const std::uint64_t wide = std::uint64_t{a} * b;
  return {static_cast<std::uint32_t>(wide >> 32), static_cast<std::uint32_t>(wide)};
}

}  // namespace

std::array<std::uint32_t, 4> philox(std::uint64_t key, std::uint64_t counter_high, std::uint64_t counter_low) {
  // Multipliers and Weyl increments of Philox 4x32 (Salmon et al. 2011, table 2).
  auto key0 = static_cast<std::uint32_t>(key);
  auto key1 = static_cast<std::uint32_t>(key >> 32);
  std::array<std::uint32_t, 4> c = {
      static_cast<std::uint32_t>(counter_low), static_cast<std::uint32_t>(counter_low >> 32),
      static_cast<std::uint32_t>(counter_high), static_cast<std::uint32_t>(counter_high >> 32)};
  for (int round = 0; round < 10; ++round) {
    const Product a = multiply(0xD2511F53U, c[0]);
    const Product b = multiply(0xCD9E8D57U, c[2]);
    c = {b.high ^ c[1] ^ key0, b.low, a.high ^ c[3] ^ key1, a.low};
    key0 += 0x9E3779B9U;
    key1 += 0xBB67AE85U;
  }
  return c;
}

float uniform(std::uint32_t bits) {
  return (static_cast<float>(bits >> 9) + 0.5F) * 0x1p-23F;
}

std::uint32_t Random::next_u32() {
  if (used_ == 4) {
    buffer_ = philox(seed_, stream_, block_++);
    used_ = 0;
  }
  return buffer_[static_cast<std::size_t>(used_++)];
}

std::uint64_t Random::below(std::uint64_t bound) {
  // Rejects the tail that would favour small values.
  const std::uint64_t limit = ~std::uint64_t{0} - (~std::uint64_t{0} % bound + 1) % bound;
  while (true) {
    const std::uint64_t value = (std::uint64_t{next_u32()} << 32) | next_u32();
    if (value <= limit) return value % bound;
  }
}

double Random::next_uniform() {
  const std::uint64_t bits = ((std::uint64_t{next_u32()} << 32) | next_u32()) >> 12;
  return (static_cast<double>(bits) + 0.5) * 0x1p-52;
}

double Random::next_normal() {
  const double radius = std::sqrt(-2.0 * std::log(next_uniform()));
  return radius * std::cos(2.0 * std::numbers::pi * next_uniform());
}

}  // namespace assay
