#include "base/threads.h"
#include "kernels/reference/access.h"
#include "kernels/reference/loops.h"

namespace assay::reference {

// Sums of s8 products are exact in f64 as they are in s32. Those of e4m3 are whole multiples of 2^-18 below 2^18 each,
// so that 2^17 of them are exact too.
void quantized_linear(const Call& call, const Memory& memory) {
  const std::int64_t out = call.in(2).shape[0];
  const std::int64_t in = call.in(2).shape[1];
  const Reader x = reader(call, memory, 0);
  const Reader x_scale = reader(call, memory, 1);
  const Reader weight = reader(call, memory, 2);
  const Reader weight_scale = reader(call, memory, 3);
  const Reader bias = reader(call, memory, 4);
  const Writer y = writer(call, memory, 0);
  parallel_for(call.in(0).rows() * out, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t row = i / out;
      const std::int64_t n = i % out;
      double sum = 0;
      for (std::int64_t k = 0; k < in; ++k) sum += x(row, k) * weight(n, k);
      const double scaled = sum * (x_scale.present() ? x_scale(row) : 1) * weight_scale(n);
      y.set(row, n, activate(call.attributes.activation, bias.present() ? scaled + bias(n) : scaled));
    }
  });
}

void quantized_linear_input_gradient(const Call& call, const Memory& memory) {
  const std::int64_t out = call.in(1).shape[0];
  const std::int64_t in = call.in(1).shape[1];
  const Reader dy = reader(call, memory, 0);
  const Reader weight = reader(call, memory, 1);
  const Reader weight_scale = reader(call, memory, 2);
  const Reader onto = reader(call, memory, 3);
  const Writer dx = writer(call, memory, 0);
  parallel_for(call.in(0).rows(), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      for (std::int64_t k = 0; k < in; ++k) {
        double sum = onto.present() ? onto(row, k) : 0;
        for (std::int64_t n = 0; n < out; ++n) sum += dy(row, n) * weight_scale(n) * weight(n, k);
        dx.set(row, k, sum);
      }
    }
  });
}

}  // namespace assay::reference
