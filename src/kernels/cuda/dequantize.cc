#include "kernels/cuda/dequantize.h"

#include "kernels/cuda/formulas.h"

namespace assay::ASSAY_CUDA_NAMESPACE {
namespace {

struct FinishPack {
  Finish work;
  In sums, bias;
  Out y;

  ON_DEVICE void operator()(std::int64_t row, std::int64_t first) const {
    Pack pack = sums.pack(row, first, work.width);
    for (int i = 0; i < pack_width && first + i < work.width; ++i) {
      float& value = pack.value[i];
      if (work.x_scale != nullptr) value *= work.x_scale[row];
      if (work.w_scale != nullptr) value *= work.w_scale[first + i];
      if (bias.present()) value += bias(first + i);
      value = activate(work.activation, value);
    }
    y.set_pack(row, first, work.width, pack);
  }
};

template <typename Number>
struct RestSum {
  RestOfSums work;

  ON_DEVICE void operator()(std::int64_t row, std::int64_t rest) const {
    const std::int64_t n = work.first + rest;
    const In x{work.x, work.x_stride, work.operand};
    const In w{work.w, work.in, work.operand};
    Number sum = 0;
    for (std::int64_t k = 0; k < work.in; ++k) sum += static_cast<Number>(x(row, k)) * static_cast<Number>(w(n, k));
    reinterpret_cast<Number*>(work.sums)[row * work.sums_stride + n] = sum;
  }
};

}  // namespace

void finish(const Finish& work) {
  const In sums{work.sums, work.sums_stride, work.sums_dtype};
  const In bias{work.bias, work.width, work.bias_dtype};
  for_packs(work.rows, work.width, FinishPack{work, sums, bias, {work.y, work.y_stride, work.y_dtype}});
}

void sum_rest(const RestOfSums& work) {
  const std::int64_t outputs = work.out - work.first;
  if (work.operand == DType::s8) return for_matrix(work.rows, outputs, RestSum<std::int32_t>{work});
  for_matrix(work.rows, outputs, RestSum<float>{work});
}

}  // namespace assay::ASSAY_CUDA_NAMESPACE
