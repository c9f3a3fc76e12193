#include "kernels/linear.h"
#include "kernels/cuda/cuda.h"
#include "kernels/cuda/formulas.h"
#include "kernels/quantized_linear.h"

// The plain product behind cuBLASLt's: a thread an output, every dtype, f32 sums (s8: s32 sums; f16 sums in chunks).
//   y = f((x W^T) [* x_scale * w_scale] + bias)    x: (rows, in), W: (out, in), y: (rows, out)
namespace assay::ASSAY_CUDA_NAMESPACE {
namespace {

struct PlainLinear {
  In x, weight, bias, x_scale, w_scale;
  Out y;
  std::int64_t in;
  std::int64_t chunk;  ///< 0: no f16 sums
  Activation activation;
  DType operand;  ///< W is rounded to it
  bool whole;     ///< s8 times s8, summed in s32

  ON_DEVICE float dot(std::int64_t row, std::int64_t n) const {
    float sum = 0;
    for (std::int64_t first = 0; first < in; first += pack_width) {
      const Pack a = x.pack(row, first, in);
      const Pack b = weight.pack(n, first, in);
      for (int i = 0; i < pack_width; ++i) sum += a.value[i] * rounded(operand, b.value[i]);
    }
    return sum;
  }

  ON_DEVICE float whole_dot(std::int64_t row, std::int64_t n) const {
    const auto* a = reinterpret_cast<const std::int8_t*>(x.data) + row * x.stride;
    const auto* b = reinterpret_cast<const std::int8_t*>(weight.data) + n * weight.stride;
    std::int32_t sum = 0;
    for (std::int64_t k = 0; k < in; ++k) sum += std::int32_t{a[k]} * std::int32_t{b[k]};
    return static_cast<float>(sum);
  }

  /// f16 fused multiply-adds, but for sums that f32 rounds before f16 does.
  ON_DEVICE float chunked_dot(std::int64_t row, std::int64_t n) const {
    float sum = 0;
    for (std::int64_t first = 0; first < in; first += chunk) {
      float partial = 0;
      for (std::int64_t k = first; k < in && k < first + chunk; ++k)
        partial = rounded(DType::f16, fmaf(x(row, k), weight(n, k), partial));
      sum += partial;
    }
    return sum;
  }

  ON_DEVICE void operator()(std::int64_t row, std::int64_t n) const {
    float result = whole ? whole_dot(row, n) : chunk > 0 ? chunked_dot(row, n) : dot(row, n);
    if (x_scale.present()) result *= x_scale(row);
    if (w_scale.present()) result *= w_scale(n);
    if (bias.present()) result += bias(n);
    y.set(row, n, activate(activation, result));
  }
};

}  // namespace

Offer prepare_plain_linear(const Call& call, const MachineFacts&) {
  const LinearCall linear = linear_call(call);
  const bool in_f16 = linear.accumulator == DType::f16;
  const auto run = [call, linear, in_f16](const Memory& memory) {
    const std::int64_t chunk = linear.chunk > 0 ? linear.chunk : linear.in;
    for_matrix(linear.rows, linear.out,
               PlainLinear{input(call, memory, 0),
                           input(call, memory, 1),
                           input(call, memory, 2),
                           {},
                           {},
                           output(call, memory, 0),
                           linear.in,
                           in_f16 ? chunk : 0,
                           linear.activation,
                           call.attributes.operand,
                           false});
  };
  Prepared prepared = offer_product(in_f16 ? "a thread an output, f16 sums" : "a thread an output, f32 sums", run);
  if (in_f16) prepared.operand = prepared.accumulator = DType::f16;
  return prepared;
}

Offer prepare_plain_quantized_linear(const Call& call, const MachineFacts&) {
  const LinearCall linear = quantized_linear_call(call);
  const bool whole = linear.x == DType::s8;
  const char* how = whole                     ? "a thread an output, s8 products"
                    : linear.x == DType::e4m3 ? "a thread an output, e4m3 widened"
                                              : "a thread an output, s8 widened";
  const auto run = [call, linear, whole](const Memory& memory) {
    for_matrix(linear.rows, linear.out,
               PlainLinear{input(call, memory, 0), input(call, memory, 2), input(call, memory, 4),
                           input(call, memory, 1), input(call, memory, 3), output(call, memory, 0), linear.in, 0,
                           linear.activation, DType::f32, whole});
  };
  Prepared prepared = offer_product(how, run);
  if (whole) {
    prepared.operand = DType::s8;
    prepared.accumulator = DType::s32;
  }
  return prepared;
}

}  // namespace assay::ASSAY_CUDA_NAMESPACE
