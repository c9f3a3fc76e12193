#include "base/threads.h"
#include "kernels/reference/access.h"
#include "kernels/reference/loops.h"

namespace assay::reference {

void activation(const Call& call, const Memory& memory) {
  const Reader x = reader(call, memory, 0);
  const Writer y = writer(call, memory, 0);
  parallel_for(call.in(0).rows(), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      for (std::int64_t i = 0; i < call.in(0).width(); ++i)
        y.set(row, i, activate(call.attributes.activation, x(row, i)));
    }
  });
}

void gated_activation(const Call& call, const Memory& memory) {
  const std::int64_t width = call.in(0).width() / 2;
  const Reader x = reader(call, memory, 0);
  const Writer y = writer(call, memory, 0);
  parallel_for(call.in(0).rows(), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      for (std::int64_t i = 0; i < width; ++i)
        y.set(row, i, activate(call.attributes.activation, x(row, i)) * x(row, width + i));
    }
  });
}

}  // namespace assay::reference
