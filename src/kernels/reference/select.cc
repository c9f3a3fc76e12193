#include "base/threads.h"
#include "kernels/reference/access.h"
#include "kernels/reference/loops.h"

namespace assay::reference {

void select_row(const Call& call, const Memory& memory) {
  const Shape& shape = call.in(0).shape;  // (B, T, d)
  const Reader x = reader(call, memory, 0);
  const Reader mask = reader(call, memory, 1);
  const Writer y = writer(call, memory, 0);
  for (std::int64_t batch = 0; batch < shape[0]; ++batch) {
    std::int64_t position = call.attributes.row == RowChoice::last ? shape[1] - 1 : 0;
    while (mask.present() && position > 0 && mask(batch * shape[1] + position) == 0) --position;
    for (std::int64_t i = 0; i < shape[2]; ++i) y.set(batch, i, x(batch * shape[1] + position, i));
  }
}

void mean_pool(const Call& call, const Memory& memory) {
  const Shape& shape = call.in(0).shape;  // (B, T, d)
  const Reader x = reader(call, memory, 0);
  const Reader mask = reader(call, memory, 1);
  const Writer y = writer(call, memory, 0);
  for (std::int64_t batch = 0; batch < shape[0]; ++batch) {
    for (std::int64_t i = 0; i < shape[2]; ++i) {
      double sum = 0;
      std::int64_t real = 0;
      for (std::int64_t token = batch * shape[1]; token < (batch + 1) * shape[1]; ++token) {
        if (mask.present() && mask(token) == 0) continue;
        sum += x(token, i);
        ++real;
      }
      y.set(batch, i, real == 0 ? 0 : sum / static_cast<double>(real));
    }
  }
}

void concat_rows(const Call& call, const Memory& memory) {
  const Writer y = writer(call, memory, 0);
  const bool vectors = call.out(0).shape.size() == 1;  // biases: the one axis is stacked
  std::int64_t row = 0;
  std::int64_t column = 0;
  for (std::size_t part = 0; part < call.inputs.size(); ++part) {
    const Reader x = reader(call, memory, part);
    const std::int64_t width = call.in(part).width();
    const std::int64_t rows = call.in(part).rows();
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t i = 0; i < width; ++i) y.set(row + r, column + i, x(r, i));
    }
    if (vectors)
      column += width;
    else
      row += rows;
  }
}

}  // namespace assay::reference
