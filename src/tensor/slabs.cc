#include "tensor/slabs.h"

#include <sys/mman.h>

#include <algorithm>

namespace assay {
namespace {

constexpr std::size_t line = 64;
constexpr std::size_t huge_page = std::size_t{2} << 20;
constexpr std::size_t slab_bytes = 8 * huge_page;

constexpr std::size_t round_up(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

}  // namespace

std::byte* Slabs::take(std::size_t bytes) {
  const std::size_t rounded = round_up(bytes, line);
  if (next_ == nullptr || rounded > left_) {
    const std::size_t size = std::max(slab_bytes, round_up(rounded, huge_page));
    slabs_.push_back(allocate_aligned(size, huge_page));  // may throw: nothing is changed before
    next_ = slabs_.back().get();
    left_ = size;
    ::madvise(next_, left_, MADV_HUGEPAGE);  // a system without huge pages refuses, and nothing is lost
  }
  std::byte* const taken = next_;
  next_ += rounded;
  left_ -= rounded;
  return taken;
}

}  // namespace assay
