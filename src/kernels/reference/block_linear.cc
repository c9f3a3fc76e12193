#include "kernels/block_linear.h"

#include <vector>

#include "base/threads.h"
#include "kernels/reference/access.h"
#include "kernels/reference/loops.h"

namespace assay::reference {
namespace {

/// body(codes, the block's number) for each block of a row of the weight that is input `place`.
template <typename Body>
void for_each_block(const Call& call, const Memory& memory, std::size_t place, std::int64_t row, Body body) {
  const BlockFormat& format = *call.attributes.blocks;
  const Argument& weight = call.in(place);
  const BlockRows rows = {format, weight.packing, memory.in<std::byte>(place), weight.shape[1]};
  GroupedCodes codes;
  for (std::int64_t block = 0; block < weight.shape[1] / format.bytes; ++block) {
    rows.decode(row, block, codes);
    body(codes, block);
  }
}

/// The first `width` values of one row of a weight in blocks.
std::vector<float> decoded_row(const Call& call, const Memory& memory, std::int64_t row, std::int64_t width) {
  const BlockFormat& format = *call.attributes.blocks;
  std::vector<float> values(static_cast<std::size_t>(format.values_in(call.in(1).shape[1])));
  for_each_block(call, memory, 1, row, [&](const GroupedCodes& codes, std::int64_t block) {
    expand_codes(format, codes, values.data() + block * format.elements);
  });
  values.resize(static_cast<std::size_t>(width));
  return values;
}

/// Codes, and a scale and a minimum for each, of one row of the weight.
struct CodedRow {
  std::vector<double> codes;
  std::vector<double> scales;
  std::vector<double> minima;
};

CodedRow coded_row(const Call& call, const Memory& memory, std::size_t place, std::int64_t row) {
  const BlockFormat& format = *call.attributes.blocks;
  CodedRow coded;
  for_each_block(call, memory, place, row, [&](const GroupedCodes& block, std::int64_t) {
    for (std::int64_t i = 0; i < format.elements; ++i) {
      const auto group = static_cast<std::size_t>(i / format.group);
      coded.codes.push_back(block.codes[static_cast<std::size_t>(i)]);
      coded.scales.push_back(static_cast<double>(block.scales[group]));
      coded.minima.push_back(static_cast<double>(block.minima[group]));
    }
  });
  return coded;
}

}  // namespace

void block_linear(const Call& call, const Memory& memory) {
  const Reader x = reader(call, memory, 0);
  const Reader bias = reader(call, memory, 2);
  const Writer y = writer(call, memory, 0);
  parallel_for(call.in(1).shape[0], 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t n = begin; n < end; ++n) {
      const std::vector<float> weight = decoded_row(call, memory, n, call.in(0).width());
      for (std::int64_t row = 0; row < call.in(0).rows(); ++row) {
        double sum = bias.present() ? bias(n) : 0;
        for (std::size_t k = 0; k < weight.size(); ++k)
          sum += x(row, static_cast<std::int64_t>(k)) * static_cast<double>(weight[k]);
        y.set(row, n, activate(call.attributes.activation, sum));
      }
    }
  });
}

void block_linear_input_gradient(const Call& call, const Memory& memory) {
  const std::int64_t in = call.out(0).width();
  const Reader dy = reader(call, memory, 0);
  const Reader onto = reader(call, memory, 2);
  const Writer dx = writer(call, memory, 0);
  parallel_for(call.in(0).rows(), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      std::vector<double> sums(static_cast<std::size_t>(in));
      for (std::int64_t n = 0; n < call.in(1).shape[0]; ++n) {
        const std::vector<float> weight = decoded_row(call, memory, n, in);
        for (std::size_t k = 0; k < sums.size(); ++k) sums[k] += dy(row, n) * static_cast<double>(weight[k]);
      }
      for (std::int64_t k = 0; k < in; ++k)
        dx.set(row, k, sums[static_cast<std::size_t>(k)] + (onto.present() ? onto(row, k) : 0));
    }
  });
}

// Each product and sum is exact in f64 within a group; the order of the rest does not matter to f32.
void quantized_block_linear(const Call& call, const Memory& memory) {
  const Reader x = reader(call, memory, 0);
  const Reader x_scale = reader(call, memory, 1);
  const Reader bias = reader(call, memory, 3);
  const Writer y = writer(call, memory, 0);
  parallel_for(call.in(2).shape[0], 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t n = begin; n < end; ++n) {
      const CodedRow weight = coded_row(call, memory, 2, n);
      for (std::int64_t row = 0; row < call.in(0).rows(); ++row) {
        double sum = bias.present() ? bias(n) : 0;
        for (std::int64_t k = 0; k < call.in(0).width(); ++k) {
          const auto i = static_cast<std::size_t>(k);
          sum +=
              x_scale(row, k / activation_group) * x(row, k) * (weight.scales[i] * weight.codes[i] - weight.minima[i]);
        }
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
      const std::vector<float> row =
          decoded_row(call, memory, static_cast<std::int64_t>(ids(token)), call.out(0).width());
      for (std::size_t i = 0; i < row.size(); ++i)
        y.set(token, static_cast<std::int64_t>(i), static_cast<double>(row[i]));
    }
  });
}

}  // namespace assay::reference
