#pragma once

#include <cstddef>
#include <vector>

#include "tensor/tensor.h"

namespace assay {

/// How pieces share slabs: the arithmetic, without the memory.
class SlabSizes {
 public:
  /// Bytes of the slab that a piece of so many begins; 0: it lies in the last one.
  std::size_t take(std::size_t bytes);
  /// Where huge pages are given, each that was touched is resident as a whole.
  std::size_t resident_bytes() const;

 private:
  std::size_t before_ = 0;  ///< Resident in slabs before the last.
  std::size_t used_ = 0;    ///< Of the last.
  std::size_t left_ = 0;
};

/// Memory for what is kept and read over and over, as weights are: taken from a few large pieces, in huge pages (2 MiB)
/// where the system gives them. Reading 80 MB of weights in small pages means 20,000 misses of the TLB a pass, which
/// halts prefetching: forward passes were up to 8 % faster so.
class Slabs {
 public:
  /// 64-byte aligned, not initialised, freed with the slabs. Throws Error(lacking) where the system refuses.
  std::byte* take(std::size_t bytes);

 private:
  std::vector<AlignedBytes> slabs_;
  SlabSizes sizes_;
  std::byte* next_ = nullptr;
};

}  // namespace assay
