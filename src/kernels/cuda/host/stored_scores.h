#pragma once

#include <algorithm>
#include <initializer_list>

#include "kernels/cuda/host/heads_product.h"
#include "kernels/cuda/host/products.h"

/// What attention by the library's products and its gradient share: stored scores, a part of the batch at a time.
namespace assay::ASSAY_CUDA_NAMESPACE {

/// Scores of so many rows at once fit into 256 MiB.
inline std::int64_t rows_at_once(const Geometry& g, std::int64_t bytes_a_score) {
  constexpr std::int64_t most_bytes = std::int64_t{256} << 20;
  return std::clamp<std::int64_t>(most_bytes / (g.heads * g.seq * g.seq * bytes_a_score), 1, g.batches);
}

inline Argument score_argument(const Geometry& g, DType dtype, std::int64_t rows) {
  return {.present = true, .dtype = dtype, .shape = {rows, g.heads, g.seq, g.seq}, .row_stride = g.seq, .packing = {}};
}

/// Kernels of ours over the scores of 1 .. `most` rows: a launch knows its number of rows beforehand.
template <typename Prepare>
std::vector<std::shared_ptr<const Kernel>> for_each_count(std::int64_t most, std::int64_t batches, Prepare prepare) {
  std::vector<std::shared_ptr<const Kernel>> kernels(static_cast<std::size_t>(most) + 1);
  for (const std::int64_t count : {most, batches % most}) {
    if (count > 0) kernels[static_cast<std::size_t>(count)] = std::get<Prepared>(prepare(count)).kernel;
  }
  return kernels;
}

inline Offer prepare_softmax_of(const Call& call, const Geometry& g, DType p, const Argument& mask, std::int64_t rows) {
  Argument part = mask;
  if (part.present) part.shape = {rows, g.seq};
  const Call softmax{
      &op::softmax, call.attributes, {score_argument(g, DType::f32, rows), part}, {score_argument(g, p, rows)}, 1};
  return prepare_softmax(softmax, {});
}

inline void run_kernel(const Kernel& kernel, std::initializer_list<const std::byte*> inputs, std::byte* output) {
  kernel.run({{inputs.begin(), inputs.size()}, {&output, 1}, nullptr});
}

inline std::size_t score_bytes(const Geometry& g, std::int64_t rows, DType dtype) {
  return static_cast<std::size_t>(rows * g.heads * g.seq * g.seq) * size_of(dtype) / 256 * 256 + 256;
}

}  // namespace assay::ASSAY_CUDA_NAMESPACE
