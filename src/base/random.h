#pragma once

#include <array>
#include <cstdint>

namespace assay {

/// Philox 4x32-10 (Salmon et al. 2011): a pure function of (key, counter), so that any element of a random tensor can
/// be made alone, in any order, on any device, with the same result.
std::array<std::uint32_t, 4> philox(std::uint64_t key, std::uint64_t counter_high, std::uint64_t counter_low);

/// Uniform in (0, 1), 24 bits: never 0 and never 1.
float uniform(std::uint32_t bits);

/// Sequential generator over Philox: one (seed, stream) pair names one sequence.
class Random {
 public:
  explicit Random(std::uint64_t seed, std::uint64_t stream = 0) : seed_(seed), stream_(stream) {}
  std::uint32_t next_u32();
  std::uint64_t below(std::uint64_t bound);  ///< Uniform in [0, bound); bound > 0.
  double next_uniform();                     ///< Uniform in (0, 1), 53 bits.
  double next_normal();                      ///< Standard normal, Box-Muller.

 private:
  std::uint64_t seed_;
  std::uint64_t stream_;
  std::uint64_t block_ = 0;
  std::array<std::uint32_t, 4> buffer_{};
  int used_ = 4;
};

}  // namespace assay
