#pragma once

#include <cstddef>
#include <vector>

#include "tensor/tensor.h"

namespace assay {

/// Memory for what is kept and read over and over, as weights are: taken from a few large pieces, in huge pages (2 MiB)
/// where the system gives them. Reading 80 MB of weights in small pages means 20,000 misses of the TLB a pass, which
/// halts prefetching: forward passes were up to 8 % faster so.
class Slabs {
 public:
  /// 64-byte aligned, not initialised, freed with the slabs. Throws Error(lacking) where the system refuses.
  std::byte* take(std::size_t bytes);

 private:
  std::vector<AlignedBytes> slabs_;
  std::byte* next_ = nullptr;
  std::size_t left_ = 0;
};

}  // namespace assay
