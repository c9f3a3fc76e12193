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

struct WidenPack {
  In q;
  const float* scale;
  Out w;
  std::int64_t in;

  ON_DEVICE void operator()(std::int64_t row, std::int64_t first) const {
    Pack pack = q.pack(row, first, in);
    for (float& value : pack.value) value *= scale[row];
    w.set_pack(row, first, in, pack);
  }
};

struct WholeSum {
  WholeRest work;

  ON_DEVICE void operator()(std::int64_t row, std::int64_t rest) const {
    const std::int64_t n = work.first + rest;
    const auto* x = reinterpret_cast<const std::int8_t*>(work.x) + row * work.x_stride;
    const auto* w = reinterpret_cast<const std::int8_t*>(work.w) + n * work.in;
    std::int32_t sum = 0;
    for (std::int64_t k = 0; k < work.in; ++k) sum += std::int32_t{x[k]} * std::int32_t{w[k]};
    reinterpret_cast<std::int32_t*>(work.sums)[row * work.sums_stride + n] = sum;
  }
};

}  // namespace

void finish(const Finish& work) {
  const In sums{work.sums, work.sums_stride, work.sums_dtype};
  const In bias{work.bias, work.width, work.bias_dtype};
  for_packs(work.rows, work.width, FinishPack{work, sums, bias, {work.y, work.y_stride, work.y_dtype}});
}

void widen(const Widen& work) {
  for_packs(work.out, work.in,
            WidenPack{{work.q, work.in, DType::s8}, work.scale, {work.w, work.in, work.dtype}, work.in});
}

void sum_rest(const WholeRest& work) {
  for_matrix(work.rows, work.out - work.first, WholeSum{work});
}

}  // namespace assay::ASSAY_CUDA_NAMESPACE
