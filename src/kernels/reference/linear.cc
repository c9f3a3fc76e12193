#include <algorithm>
#include <bit>
#include <limits>

#include "base/threads.h"
#include "kernels/reference/access.h"
#include "kernels/reference/loops.h"
#include "tensor/small_float.h"

namespace assay::reference {
namespace {

/// a * b + c in f16 with one rounding, as the FP16 fused multiply-add gives it. The product of two f16 is exact in f64;
/// the sum may not be, so its last bit is made odd where something was lost: rounding that to f16 rounds right.
double f16_fma(double a, double b, double c) {
  const double product = a * b;
  double sum = product + c;
  const double part = sum - product;
  const double lost = (product - (sum - part)) + (c - part);
  if (lost != 0 && (std::bit_cast<std::uint64_t>(sum) & 1) == 0)
    sum = std::nextafter(sum,
                         lost > 0 ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity());
  return decode(encode(sum, f16_format), f16_format);
}

/// The dot product of two rows, accumulated in f16 for `chunk` products at a time and then in f32.
double chunked_dot(const Reader& x, const Reader& weight, const Attributes& attributes, std::int64_t row,
                   std::int64_t n, std::int64_t in) {
  const std::int64_t chunk = attributes.chunk > 0 ? attributes.chunk : in;
  float sum = 0;
  for (std::int64_t first = 0; first < in; first += chunk) {
    double partial = 0;
    for (std::int64_t k = first; k < std::min(first + chunk, in); ++k)
      partial = f16_fma(x(row, k), weight(n, k), partial);
    sum += static_cast<float>(partial);
  }
  return sum;
}

double dot(const Reader& x, const Reader& weight, const Math& operand, std::int64_t row, std::int64_t n,
           std::int64_t in) {
  double sum = 0;
  for (std::int64_t k = 0; k < in; ++k) sum += x(row, k) * operand(weight(n, k));
  return sum;
}

}  // namespace

void linear(const Call& call, const Memory& memory) {
  const std::int64_t out = call.in(1).shape[0];
  const std::int64_t in = call.in(1).shape[1];
  const Reader x = reader(call, memory, 0);
  const Reader weight = reader(call, memory, 1);
  const Reader bias = reader(call, memory, 2);
  const Writer y = writer(call, memory, 0);
  const Math operand(call.attributes.operand);
  const bool in_f16 = call.attributes.accumulator == DType::f16;
  parallel_for(call.in(0).rows() * out, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t row = i / out;
      const std::int64_t n = i % out;
      const double sum =
          in_f16 ? chunked_dot(x, weight, call.attributes, row, n, in) : dot(x, weight, operand, row, n, in);
      y.set(row, n, activate(call.attributes.activation, bias.present() ? sum + bias(n) : sum));
    }
  });
}

}  // namespace assay::reference
