#pragma once

#include <algorithm>
#include <vector>

#include "kernels/cuda/access.h"

/// Kernels over a list of tensors in few launches: their addresses travel in the arguments of the launch.
namespace assay::ASSAY_CUDA_NAMESPACE {

/// What of a launch's arguments tables may fill: every driver takes 4 KB, and a kernel has some of its own.
constexpr std::size_t table_bytes = 3840;

/// As many tensors of a list as one launch takes, cut into items of `item_elements` elements; the last item of a tensor
/// may be shorter. Operands of one tensor are equally long, but for those that have an element an item. `bytes`: what
/// of a launch's arguments the table may fill.
template <int inputs, int outputs, std::size_t bytes = table_bytes>
struct TensorTable {
  static constexpr int most = static_cast<int>((bytes - 8) / (8 * (inputs + outputs) + 16));

  const std::byte* in[most][inputs];
  std::byte* out[most][outputs];
  std::int64_t count[most];           ///< Elements.
  std::int64_t first_item[most + 1];  ///< Items of the tensors before it.

  /// Says how long tensor k is, and makes the items that it is cut into; those before it come first.
  void set_count(int k, std::int64_t elements, std::int64_t item_elements) {
    count[k] = elements;
    if (k == 0) first_item[0] = 0;
    first_item[k + 1] = first_item[k] + (elements + item_elements - 1) / item_elements;
  }

  /// The tensor that an item belongs to.
  ON_DEVICE int tensor_of(std::int64_t item, int tensors) const {
    int low = 0;
    for (int high = tensors; high - low > 1;) {
      const int middle = (low + high) / 2;
      (first_item[middle] <= item ? low : high) = middle;
    }
    return low;
  }
};

/// Tensors `first` .. of a list that go into one launch.
struct Batch {
  std::size_t first = 0;
  std::size_t tensors = 0;
};

/// The list in order, cut where a launch is full and where alike(a, b), equal dtypes, does not hold.
template <typename Alike>
std::vector<Batch> batches(std::size_t tensors, std::size_t most, const Alike& alike) {
  std::vector<Batch> result;
  for (std::size_t i = 0; i < tensors; ++i) {
    if (result.empty() || result.back().tensors == most || !alike(result.back().first, i)) result.push_back({i, 0});
    ++result.back().tensors;
  }
  return result;
}

}  // namespace assay::ASSAY_CUDA_NAMESPACE
