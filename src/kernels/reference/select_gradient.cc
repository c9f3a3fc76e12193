#include "base/threads.h"
#include "kernels/reference/access.h"
#include "kernels/reference/loops.h"

namespace assay::reference {

void select_row_gradient(const Call& call, const Memory& memory) {
  const Shape& shape = call.out(0).shape;  // (B, T, d)
  const Reader dy = reader(call, memory, 0);
  const Writer dx = writer(call, memory, 0);
  const std::int64_t position = call.attributes.row == RowChoice::last ? shape[1] - 1 : 0;
  for (std::int64_t row = 0; row < shape[0] * shape[1]; ++row) {
    for (std::int64_t i = 0; i < shape[2]; ++i) dx.set(row, i, row % shape[1] == position ? dy(row / shape[1], i) : 0);
  }
}

void mean_pool_gradient(const Call& call, const Memory& memory) {
  const Shape& shape = call.out(0).shape;  // (B, T, d)
  const Reader dy = reader(call, memory, 0);
  const Reader mask = reader(call, memory, 1);
  const Writer dx = writer(call, memory, 0);
  const auto is_real = [&](std::int64_t token) { return !mask.present() || mask(token) != 0; };
  for (std::int64_t batch = 0; batch < shape[0]; ++batch) {
    std::int64_t real = 0;
    for (std::int64_t t = 0; t < shape[1]; ++t) real += is_real(batch * shape[1] + t) ? 1 : 0;
    for (std::int64_t token = batch * shape[1]; token < (batch + 1) * shape[1]; ++token) {
      for (std::int64_t i = 0; i < shape[2]; ++i)
        dx.set(token, i, is_real(token) ? dy(batch, i) / static_cast<double>(real) : 0);
    }
  }
}

void concat_columns(const Call& call, const Memory& memory) {
  const Writer y = writer(call, memory, 0);
  std::int64_t column = 0;
  for (std::size_t part = 0; part < call.inputs.size(); ++part) {
    const Reader x = reader(call, memory, part);
    for (std::int64_t row = 0; row < call.in(part).rows(); ++row) {
      for (std::int64_t i = 0; i < call.in(part).width(); ++i) y.set(row, column + i, x(row, i));
    }
    column += call.in(part).width();
  }
}

}  // namespace assay::reference
