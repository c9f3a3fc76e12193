#include "kernels/cuda/cuda.h"
#include "kernels/cuda/formulas.h"

// select_row: y[b] = x[b, first or last (real)]      x: (B, T, d), y: (B, d)
// mean_pool:  y[b] = mean of x[b, t] over the positions that the mask has
// concat_rows, concat_columns: parts behind one another
namespace assay::ASSAY_CUDA_NAMESPACE {
namespace {

struct SelectRow {
  In x, mask;
  Out y;
  std::int64_t seq, width, last;

  ON_DEVICE void operator()(std::int64_t batch, std::int64_t first) const {
    std::int64_t position = last;
    while (mask.present() && position > 0 && mask(batch * seq + position) == 0) --position;
    y.set_pack(batch, first, width, x.pack(batch * seq + position, first, width));
  }
};

struct MeanPool {
  In x, mask;
  Out y;
  std::int64_t seq;

  ON_DEVICE void operator()(std::int64_t batch, std::int64_t column) const {
    float sum = 0;
    float real = 0;
    for (std::int64_t token = batch * seq; token < (batch + 1) * seq; ++token) {
      if (mask.present() && mask(token) == 0) continue;
      sum += x(token, column);
      real += 1;
    }
    y.set(batch, column, real == 0 ? 0 : sum / real);
  }
};

/// A part of the result: its rows from `row` on, its columns from `column` on.
struct Place {
  In x;
  Out y;
  std::int64_t width, row, column;

  ON_DEVICE void operator()(std::int64_t r, std::int64_t i) const { y.set(row + r, column + i, x(r, i)); }
};

enum class Direction : std::uint8_t { down, right };

Offer prepare_concatenation(const Call& call, Direction direction) {
  return offer("a launch a part", [call, direction](const Memory& memory) {
    const Out y = output(call, memory, 0);
    std::int64_t done = 0;
    for (std::size_t part = 0; part < call.inputs.size(); ++part) {
      const std::int64_t rows = call.in(part).rows();
      const std::int64_t width = call.in(part).width();
      const bool down = direction == Direction::down;
      for_matrix(rows, width, Place{input(call, memory, part), y, width, down ? done : 0, down ? 0 : done});
      done += down ? rows : width;
    }
  });
}

}  // namespace

Offer prepare_select_row(const Call& call, const MachineFacts&) {
  return offer("a copy", [call](const Memory& memory) {
    const Shape& shape = call.in(0).shape;
    const std::int64_t last = call.attributes.row == RowChoice::last ? shape[1] - 1 : 0;
    for_packs(
        shape[0], shape[2],
        SelectRow{input(call, memory, 0), input(call, memory, 1), output(call, memory, 0), shape[1], shape[2], last});
  });
}

Offer prepare_mean_pool(const Call& call, const MachineFacts&) {
  return offer("a thread a column", [call](const Memory& memory) {
    const Shape& shape = call.in(0).shape;
    for_matrix(shape[0], shape[2],
               MeanPool{input(call, memory, 0), input(call, memory, 1), output(call, memory, 0), shape[1]});
  });
}

Offer prepare_concat_rows(const Call& call, const MachineFacts&) {
  const bool vectors = call.out(0).shape.size() == 1;  // biases: the one axis is stacked
  return prepare_concatenation(call, vectors ? Direction::right : Direction::down);
}

Offer prepare_concat_columns(const Call& call, const MachineFacts&) {
  return prepare_concatenation(call, Direction::right);
}

}  // namespace assay::ASSAY_CUDA_NAMESPACE
