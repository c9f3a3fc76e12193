#include "kernels/cuda/cuda.h"
#include "kernels/cuda/formulas.h"

// select_row_gradient: dx[b, chosen] = dy[b], 0 elsewhere         dy: (B, d), dx: (B, T, d)
// mean_pool_gradient:  dx[b, t] = dy[b] / count where the mask has t, 0 elsewhere
namespace assay::ASSAY_CUDA_NAMESPACE {
namespace {

struct SpreadRow {
  In dy;
  Out dx;
  std::int64_t seq, width, position;

  ON_DEVICE void operator()(std::int64_t row, std::int64_t first) const {
    dx.set_pack(row, first, width, row % seq == position ? dy.pack(row / seq, first, width) : Pack{});
  }
};

struct SpreadMean {
  In dy, mask;
  Out dx;
  std::int64_t seq, width;

  ON_DEVICE void operator()(std::int64_t row, const Team& team) const {
    const std::int64_t batch = row / seq;
    float mine = 0;
    for (std::int64_t t = team.rank; t < seq; t += team.size)
      mine += mask.present() && mask(batch * seq + t) == 0 ? 0 : 1;
    const float real = team.sum(mine);
    const bool counts = !mask.present() || mask(row) != 0;
    for (std::int64_t i = team.rank; i < width; i += team.size) dx.set(row, i, counts ? dy(batch, i) / real : 0);
  }
};

}  // namespace

Offer prepare_select_row_gradient(const Call& call, const MachineFacts&) {
  return offer("a copy and zeros", [call](const Memory& memory) {
    const Shape& shape = call.out(0).shape;
    const std::int64_t position = call.attributes.row == RowChoice::last ? shape[1] - 1 : 0;
    for_packs(shape[0] * shape[1], shape[2],
              SpreadRow{input(call, memory, 0), output(call, memory, 0), shape[1], shape[2], position});
  });
}

Offer prepare_mean_pool_gradient(const Call& call, const MachineFacts&) {
  return offer("a team of threads a row", [call](const Memory& memory) {
    const Shape& shape = call.out(0).shape;
    for_rows(shape[0] * shape[1], shape[2],
             SpreadMean{input(call, memory, 0), input(call, memory, 1), output(call, memory, 0), shape[1], shape[2]});
  });
}

}  // namespace assay::ASSAY_CUDA_NAMESPACE
