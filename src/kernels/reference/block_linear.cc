#include "kernels/block_linear.h"

#include <vector>

#include "base/threads.h"
#include "kernels/reference/access.h"
#include "kernels/reference/loops.h"

namespace assay::reference {
namespace {

/// The values of one row of a weight in blocks.
std::vector<float> decoded_row(const Call& call, const Memory& memory, std::int64_t row) {
  const BlockFormat& format = *call.attributes.blocks;
  const Argument& weight = call.in(1);
  std::vector<float> values(static_cast<std::size_t>(format.values_in(weight.shape[1])));
  for (std::int64_t block = 0; block < weight.shape[1] / format.bytes; ++block) {
    const std::int64_t from = block_offset(format, weight.packing, weight.shape[1], row, block);
    expand_block(format, memory.in<std::byte>(1) + from, values.data() + block * format.elements);
  }
  return values;
}

}  // namespace

void block_linear(const Call& call, const Memory& memory) {
  const Reader x = reader(call, memory, 0);
  const Reader bias = reader(call, memory, 2);
  const Writer y = writer(call, memory, 0);
  parallel_for(call.in(1).shape[0], 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t n = begin; n < end; ++n) {
      const std::vector<float> weight = decoded_row(call, memory, n);
      for (std::int64_t row = 0; row < call.in(0).rows(); ++row) {
        double sum = bias.present() ? bias(n) : 0;
        for (std::size_t k = 0; k < weight.size(); ++k)
          sum += x(row, static_cast<std::int64_t>(k)) * static_cast<double>(weight[k]);
        y.set(row, n, activate(call.attributes.activation, sum));
      }
    }
  });
}

void block_embedding(const Call& call, const Memory& memory) {
  const Reader ids = reader(call, memory, 0);
  const Writer y = writer(call, memory, 0);
  parallel_for(call.out(0).rows(), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t token = begin; token < end; ++token) {
      const std::vector<float> row = decoded_row(call, memory, static_cast<std::int64_t>(ids(token)));
      for (std::size_t i = 0; i < row.size(); ++i)
        y.set(token, static_cast<std::int64_t>(i), static_cast<double>(row[i]));
    }
  });
}

}  // namespace assay::reference
