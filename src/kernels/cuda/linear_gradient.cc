#include "kernels/cuda/cuda.h"
#include "kernels/cuda/formulas.h"

// The plain products behind cuBLASLt's: a thread an output.
//   dx = dy W [+ onto]    dW = dy^T x    dy: (rows, out), W: (out, in), x: (rows, in)
namespace assay::ASSAY_CUDA_NAMESPACE {
namespace {

struct LinearInputGradient {
  In dy, weight, onto;
  Out dx;
  std::int64_t out;
  DType operand;

  ON_DEVICE void operator()(std::int64_t row, std::int64_t k) const {
    float sum = onto.present() ? onto(row, k) : 0;
    for (std::int64_t n = 0; n < out; ++n) sum += dy(row, n) * rounded(operand, weight(n, k));
    dx.set(row, k, sum);
  }
};

struct WeightGradient {
  In dy, x;
  Out dw;
  std::int64_t rows;

  ON_DEVICE void operator()(std::int64_t n, std::int64_t k) const {
    float sum = 0;
    for (std::int64_t row = 0; row < rows; ++row) sum += dy(row, n) * x(row, k);
    dw.set(n, k, sum);
  }
};

}  // namespace

Offer prepare_plain_linear_input_gradient(const Call& call, const MachineFacts&) {
  return offer_product("a thread an output, f32 sums", [call](const Memory& memory) {
    for_matrix(call.in(0).rows(), call.in(1).shape[1],
               LinearInputGradient{input(call, memory, 0), input(call, memory, 1), input(call, memory, 2),
                                   output(call, memory, 0), call.in(1).shape[0], call.attributes.operand});
  });
}

Offer prepare_plain_linear_weight_gradient(const Call& call, const MachineFacts&) {
  return offer_product("a thread an output, f32 sums", [call](const Memory& memory) {
    for_matrix(
        call.in(0).width(), call.in(1).width(),
        WeightGradient{input(call, memory, 0), input(call, memory, 1), output(call, memory, 0), call.in(0).rows()});
  });
}

}  // namespace assay::ASSAY_CUDA_NAMESPACE
