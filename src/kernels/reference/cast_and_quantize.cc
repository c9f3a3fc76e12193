#include <algorithm>
#include <cmath>

#include "base/threads.h"
#include "kernels/quantize.h"
#include "kernels/reference/access.h"
#include "kernels/reference/loops.h"
#include "tensor/make_blocks.h"

namespace assay::reference {
namespace {

/// The values [begin, end) of a row; returns their scale.
float quantize_stretch(const Call& call, const Memory& memory, std::int64_t row, std::int64_t begin, std::int64_t end) {
  const Reader x = reader(call, memory, 0);
  const Writer q = writer(call, memory, 0);
  const float limit = quantized_limit(call.out(0).dtype);
  float largest = 0;
  bool finite = true;
  for (std::int64_t i = begin; i < end; ++i) {
    largest = std::max(largest, static_cast<float>(std::abs(x(row, i))));
    finite = finite && std::isfinite(x(row, i));
  }
  const bool zero = largest < smallest_row;
  const float inverse = zero ? 0.0F : limit / largest;
  for (std::int64_t i = begin; i < end; ++i)
    q.set(row, i, std::clamp(static_cast<float>(x(row, i)) * inverse, -limit, limit));
  return !finite ? NAN : zero ? 1.0F : largest / limit;
}

/// Every row in stretches of `group` values.
void quantize_stretches(const Call& call, const Memory& memory, std::int64_t group) {
  const std::int64_t width = call.in(0).width();
  const std::int64_t groups = (width + group - 1) / group;
  parallel_for(call.in(0).rows(), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin * groups; i < end * groups; ++i) {
      const std::int64_t first = i % groups * group;
      memory.out<float>(1)[i] = quantize_stretch(call, memory, i / groups, first, std::min(first + group, width));
    }
  });
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
  quantize_stretches(call, memory, std::max<std::int64_t>(call.in(0).width(), 1));
}

void quantize_groups(const Call& call, const Memory& memory) {
  quantize_stretches(call, memory, activation_group);
}

void quantize_blocks(const Call& call, const Memory& memory) {
  const Argument& weight = call.in(0);
  const std::int64_t row_bytes = call.out(0).width();
  parallel_for(weight.rows(), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row)
      make_blocks(*call.attributes.blocks, memory.in<float>(0) + row * weight.row_stride, weight.width(),
                  memory.out<std::byte>(0) + row * row_bytes);
  });
}

void quantize_weight(const Call& call, const Memory& memory) {
  quantize_rows(call, memory);
}

}  // namespace assay::reference
