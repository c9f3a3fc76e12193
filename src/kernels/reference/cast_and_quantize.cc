#include <algorithm>

#include "base/threads.h"
#include "kernels/reference/access.h"
#include "kernels/reference/loops.h"

namespace assay::reference {
namespace {

/// Rows without a magnitude above this count as zero: 127 / it must stay finite in f32.
constexpr float smallest_row = 0x1p-100F;

/// One row: scale = largest / 127 and q = round(x * (127 / largest)), in f32, to nearest even. A row of zeros gets
/// scale 1, so that no product with it can be NaN.
void quantize_row(const Call& call, const Memory& memory, std::int64_t row) {
  const Reader x = reader(call, memory, 0);
  const Writer q = writer(call, memory, 0);
  const std::int64_t width = call.in(0).width();
  float largest = 0;
  for (std::int64_t i = 0; i < width; ++i) largest = std::max(largest, static_cast<float>(std::abs(x(row, i))));
  const bool zero = largest < smallest_row;
  const float inverse = zero ? 0.0F : 127.0F / largest;
  for (std::int64_t i = 0; i < width; ++i)
    q.set(row, i, std::clamp(static_cast<float>(x(row, i)) * inverse, -127.0F, 127.0F));
  memory.out<float>(1)[row] = zero ? 1.0F : largest / 127.0F;
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
