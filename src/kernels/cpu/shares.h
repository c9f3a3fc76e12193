#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/cpu/blocking.h"

namespace assay::cpu {

/// The numbers 0 to count - 1, handed out to threads. Each takes a stretch of its own front to back, so that what lies
/// behind the numbers is read in order; one whose stretch is done takes from the end of another's, so that a thread
/// whose core others use is not waited for.
class Shares {
 public:
  explicit Shares(int threads) : stretches_(static_cast<std::size_t>(threads)) {}

  /// Before any thread takes.
  void deal(std::int64_t count) {
    const auto threads = static_cast<std::int64_t>(stretches_.size());
    for (std::int64_t i = 0; i < threads; ++i)
      stretches_[static_cast<std::size_t>(i)].left.store(pack({count * i / threads, count * (i + 1) / threads}),
                                                         std::memory_order_relaxed);
  }

  static constexpr std::int64_t none = -1;

  /// The next number for that thread; `none` where all are taken.
  std::int64_t take(int thread) {
    const std::int64_t own = take_first(stretches_[static_cast<std::size_t>(thread)]);
    if (own != none) return own;
    for (std::size_t i = 1; i < stretches_.size(); ++i) {
      const std::int64_t others = take_last(stretches_[(static_cast<std::size_t>(thread) + i) % stretches_.size()]);
      if (others != none) return others;
    }
    return none;
  }

 private:
  struct Range {
    std::int64_t begin;
    std::int64_t end;
  };
  struct alignas(64) Stretch {  // a cache line of its own
    std::atomic<std::uint64_t> left = 0;
  };

  static std::uint64_t pack(Range range) {
    return static_cast<std::uint64_t>(range.begin) << 32 | static_cast<std::uint64_t>(range.end);
  }
  static Range unpack(std::uint64_t bits) {
    return {static_cast<std::int64_t>(bits >> 32), static_cast<std::int64_t>(bits & 0xffffffff)};
  }

  static std::int64_t take_first(Stretch& stretch) {
    std::uint64_t bits = stretch.left.load(std::memory_order_relaxed);
    for (;;) {
      const Range range = unpack(bits);
      if (range.begin >= range.end) return none;
      if (stretch.left.compare_exchange_weak(bits, pack({range.begin + 1, range.end}))) return range.begin;
    }
  }
  static std::int64_t take_last(Stretch& stretch) {
    std::uint64_t bits = stretch.left.load(std::memory_order_relaxed);
    for (;;) {
      const Range range = unpack(bits);
      if (range.begin >= range.end) return none;
      if (stretch.left.compare_exchange_weak(bits, pack({range.begin, range.end - 1}))) return range.end - 1;
    }
  }

  std::vector<Stretch> stretches_;
};

/// Asks memory for the first lines of what a thread will read, so that they are on their way while it makes its input
/// ready.
inline void ask_for_first_lines(const std::byte* data) {
  constexpr std::int64_t lines = 32;
  for (std::int64_t line = 0; line < lines; ++line) __builtin_prefetch(data + line * line_bytes);
}

}  // namespace assay::cpu
