#include "base/threads.h"
#include "kernels/reference/access.h"
#include "kernels/reference/loops.h"

namespace assay::reference {

void add_rows(const Call& call, const Memory& memory) {
  const Shape& shape = call.in(0).shape;  // (B, T, d)
  const Reader x = reader(call, memory, 0);
  const Reader table = reader(call, memory, 1);
  const Writer y = writer(call, memory, 0);
  const bool by_position = call.attributes.row == RowChoice::by_position;
  parallel_for(shape[0] * shape[1], 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t token = begin; token < end; ++token) {
      const std::int64_t row = by_position ? token % shape[1] : 0;
      for (std::int64_t i = 0; i < shape[2]; ++i) y.set(token, i, x(token, i) + table(row, i));
    }
  });
}

}  // namespace assay::reference
