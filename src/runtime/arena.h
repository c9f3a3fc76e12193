#pragma once

#include <cstdint>
#include <span>

namespace assay {

/// A buffer that is needed from step `first` to step `last`, both included.
struct Lifetime {
  std::int64_t bytes = 0;
  int first = 0;
  int last = 0;
  std::int64_t offset = -1;  ///< Set by `arrange`; a multiple of 64.
};

/// Gives every buffer its offset in one arena, so that buffers that live at the same time do not overlap. Largest
/// first, each at the lowest free offset (Pisarchyk & Lee 2020, "greedy by size"). Returns the arena's bytes.
std::int64_t arrange(std::span<Lifetime> buffers);

}  // namespace assay
