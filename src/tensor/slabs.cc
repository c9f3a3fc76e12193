#include "tensor/slabs.h"

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

std::size_t SlabSizes::take(std::size_t bytes) {
  const std::size_t rounded = round_up(bytes, line);
  const bool fits = used_ > 0 && rounded <= left_;
  const std::size_t size = fits ? 0 : std::max(slab_bytes, round_up(rounded, huge_page));
  if (!fits) {
    before_ = resident_bytes();
    used_ = 0;
    left_ = size;
  }
  used_ += rounded;
  left_ -= rounded;
  return size;
}

std::size_t SlabSizes::resident_bytes() const {
  return before_ + round_up(used_, huge_page);
}

std::byte* Slabs::take(std::size_t bytes) {
  SlabSizes after = sizes_;
  if (const std::size_t size = after.take(bytes); size > 0) {
    slabs_.push_back(allocate_aligned(size, huge_page));  // may throw: nothing is changed before
    next_ = slabs_.back().get();
  }
  sizes_ = after;
  std::byte* const taken = next_;
  next_ += round_up(bytes, line);
  return taken;
}

}  // namespace assay
