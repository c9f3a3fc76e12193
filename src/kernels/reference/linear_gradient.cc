#include "base/threads.h"
#include "kernels/reference/access.h"
#include "kernels/reference/loops.h"

namespace assay::reference {

void linear_input_gradient(const Call& call, const Memory& memory) {
  const std::int64_t out = call.in(1).shape[0];
  const std::int64_t in = call.in(1).shape[1];
  const Reader dy = reader(call, memory, 0);
  const Reader weight = reader(call, memory, 1);
  const Reader onto = reader(call, memory, 2);
  const Writer dx = writer(call, memory, 0);
  const Math operand(call.attributes.operand);
  parallel_for(call.in(0).rows(), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      for (std::int64_t k = 0; k < in; ++k) {
        double sum = onto.present() ? onto(row, k) : 0;
        for (std::int64_t n = 0; n < out; ++n) sum += dy(row, n) * operand(weight(n, k));
        dx.set(row, k, sum);
      }
    }
  });
}

void linear_weight_gradient(const Call& call, const Memory& memory) {
  const std::int64_t rows = call.in(0).rows();
  const Reader dy = reader(call, memory, 0);
  const Reader x = reader(call, memory, 1);
  const Writer dw = writer(call, memory, 0);
  parallel_for(call.in(0).width(), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t n = begin; n < end; ++n) {
      for (std::int64_t k = 0; k < call.in(1).width(); ++k) {
        double sum = 0;
        for (std::int64_t row = 0; row < rows; ++row) sum += dy(row, n) * x(row, k);
        dw.set(n, k, sum);
      }
    }
  });
}

void sum_rows(const Call& call, const Memory& memory) {
  const Reader dy = reader(call, memory, 0);
  const Writer sums = writer(call, memory, 0);
  parallel_for(call.in(0).width(), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      double sum = 0;
      for (std::int64_t row = 0; row < call.in(0).rows(); ++row) sum += dy(row, i);
      sums.set(0, i, sum);
    }
  });
}

}  // namespace assay::reference
