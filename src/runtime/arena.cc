#include "runtime/arena.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace assay {
namespace {

std::int64_t aligned(std::int64_t bytes) {
  return (bytes + 63) / 64 * 64;
}

bool together(const Lifetime& a, const Lifetime& b) {
  return a.first <= b.last && b.first <= a.last;
}

/// The lowest offset at which `buffer` overlaps none of `placed` that live when it does; `placed` is sorted by offset.
std::int64_t lowest_offset(const Lifetime& buffer, const std::vector<const Lifetime*>& placed) {
  std::int64_t offset = 0;
  for (const Lifetime* other : placed) {
    if (!together(buffer, *other)) continue;
    if (other->offset >= offset + aligned(buffer.bytes)) break;
    offset = std::max(offset, other->offset + aligned(other->bytes));
  }
  return offset;
}

}  // namespace

std::int64_t arrange(std::span<Lifetime> buffers) {
  std::vector<Lifetime*> order;
  for (Lifetime& buffer : buffers) order.push_back(&buffer);
  std::stable_sort(order.begin(), order.end(),
                   [](const Lifetime* a, const Lifetime* b) { return a->bytes > b->bytes; });
  std::vector<const Lifetime*> placed;
  std::int64_t total = 0;
  for (Lifetime* buffer : order) {
    buffer->offset = lowest_offset(*buffer, placed);
    total = std::max(total, buffer->offset + aligned(buffer->bytes));
    const auto behind =
        std::upper_bound(placed.begin(), placed.end(), buffer->offset,
                         [](std::int64_t offset, const Lifetime* other) { return offset < other->offset; });
    placed.insert(behind, buffer);
  }
  return total;
}

}  // namespace assay
