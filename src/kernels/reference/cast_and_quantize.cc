#include <algorithm>
#include <cmath>

#include "base/threads.h"
#include "kernels/quantize.h"
#include "kernels/reference/access.h"
#include "kernels/reference/loops.h"

namespace assay::reference {
namespace {

void quantize_row(const Call& call, const Memory& memory, std::int64_t row) {
  const Reader x = reader(call, memory, 0);
  const Writer q = writer(call, memory, 0);
  const std::int64_t width = call.in(0).width();
  const float limit = quantized_limit(call.out(0).dtype);
  float largest = 0;
  bool finite = true;
  for (std::int64_t i = 0; i < width; ++i) {
    largest = std::max(largest, static_cast<float>(std::abs(x(row, i))));
    finite = finite && std::isfinite(x(row, i));
  }
  const bool zero = largest < smallest_row;
  const float inverse = zero ? 0.0F : limit / largest;
  for (std::int64_t i = 0; i < width; ++i)
    q.set(row, i, std::clamp(static_cast<float>(x(row, i)) * inverse, -limit, limit));
  memory.out<float>(1)[row] = !finite ? NAN : zero ? 1.0F : largest / limit;
}

}  // namespace

void cast(const Call& call, const Memory& memory) {
  const Reader x = reader(call, memory, 0);
  const Writer y = writer(call, memory, 0);
  parallel_for(call.in(0).rows(), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      for (std::int64_t i = 0; i < call.in(0).width(); ++i) y.set(row, i, x(row, i));
    }
  });
}

void quantize_rows(const Call& call, const Memory& memory) {
  parallel_for(call.in(0).rows(), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) quantize_row(call, memory, row);
  });
}

void quantize_weight(const Call& call, const Memory& memory) {
  quantize_rows(call, memory);
}

}  // namespace assay::reference
