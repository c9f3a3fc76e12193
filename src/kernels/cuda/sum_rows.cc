#include "kernels/cuda/cuda.h"
#include "kernels/cuda/formulas.h"

// sums = sum over rows of dy    dy: (rows, width), sums: (width). Parts of the rows first, then the parts in order.
namespace assay::ASSAY_CUDA_NAMESPACE {
namespace {

struct RowPartialSums {
  In dy;
  float* partial;  ///< (parts, width)
  std::int64_t rows, width, parts;

  ON_DEVICE void operator()(std::int64_t part, std::int64_t column) const {
    float sum = 0;
    for (std::int64_t row = rows * part / parts; row < rows * (part + 1) / parts; ++row) sum += dy(row, column);
    partial[part * width + column] = sum;
  }
};

struct RowTotalSums {
  const float* partial;
  Out sums;
  std::int64_t width, parts;

  ON_DEVICE void operator()(std::int64_t column) const {
    float sum = 0;
    for (std::int64_t part = 0; part < parts; ++part) sum += partial[part * width + column];
    sums.set(0, column, sum);
  }
};

}  // namespace

Offer prepare_sum_rows(const Call& call, const MachineFacts&) {
  const auto run = [call](const Memory& memory) {
    const std::int64_t rows = call.in(0).rows();
    const std::int64_t width = call.in(0).width();
    const std::int64_t parts = rows < most_parts ? rows : most_parts;
    auto* partial = reinterpret_cast<float*>(memory.workspace);
    for_matrix(parts, width, RowPartialSums{input(call, memory, 0), partial, rows, width, parts});
    for_elements(width, RowTotalSums{partial, output(call, memory, 0), width, parts});
  };
  return offer("two passes, always in the same order", run,
               most_parts * static_cast<std::size_t>(call.in(0).width()) * sizeof(float));
}

}  // namespace assay::ASSAY_CUDA_NAMESPACE
