#include "kernels/cuda/cuda.h"
#include "kernels/cuda/formulas.h"

// embedding_gradient: table[id] = [onto +] sum of dy over the tokens of that id    ids: (B, T), dy: (B, T, d)
// add_rows_gradient:  table[t] = sum over batches of dy[b, t]; or table[0] = sum of all
// No atomics: every sum is taken by one thread in the tokens' order, so the same inputs give the same bits.
namespace assay::ASSAY_CUDA_NAMESPACE {
namespace {

struct Start {
  In onto;
  Out table;
  std::int64_t width;

  ON_DEVICE void operator()(std::int64_t row, std::int64_t first) const {
    table.set_pack(row, first, width, onto.present() ? onto.pack(row, first, width) : Pack{});
  }
};

/// A team a token; the first token of an id adds up all of them.
struct SumOfId {
  const std::int32_t* ids;
  In dy, table;
  Out result;
  std::int64_t tokens, width, padding_id;

  ON_DEVICE void operator()(std::int64_t token, const Team& team) const {
    const std::int32_t id = ids[token];
    float earlier = 0;
    for (std::int64_t other = team.rank; other < token; other += team.size) earlier = ids[other] == id ? 1 : earlier;
    if (team.max(earlier) > 0 || id == padding_id) return;
    for (std::int64_t column = team.rank; column < width; column += team.size) {
      float sum = 0;
      for (std::int64_t other = token; other < tokens; ++other) {
        if (ids[other] == id) sum += dy(other, column);
      }
      if (sum != 0) result.set(id, column, table(id, column) + sum);
    }
  }
};

struct SumOfPosition {
  In dy;
  Out table;
  std::int64_t batches, seq;
  bool first_only;

  ON_DEVICE void operator()(std::int64_t row, std::int64_t column) const {
    float sum = 0;
    if (first_only) {
      for (std::int64_t token = 0; row == 0 && token < batches * seq; ++token) sum += dy(token, column);
    } else {
      for (std::int64_t batch = 0; row < seq && batch < batches; ++batch) sum += dy(batch * seq + row, column);
    }
    table.set(row, column, sum);
  }
};

}  // namespace

Offer prepare_embedding_gradient(const Call& call, const MachineFacts&) {
  if (call.in(0).dtype != DType::s32) return Declined{"ids are not s32"};
  return offer("sums in the tokens' order", [call](const Memory& memory) {
    const Out table = output(call, memory, 0);
    const std::int64_t width = call.out(0).width();
    for_packs(call.out(0).rows(), width, Start{input(call, memory, 2), table, width});
    const In before{table.data, table.stride, table.dtype};
    for_rows(call.in(1).rows(), width,
             SumOfId{memory.in<std::int32_t>(0), input(call, memory, 1), before, table, call.in(1).rows(), width,
                     call.attributes.padding_id});
  });
}

Offer prepare_add_rows_gradient(const Call& call, const MachineFacts&) {
  return offer("sums in the tokens' order", [call](const Memory& memory) {
    const Shape& shape = call.in(0).shape;  // (B, T, d)
    for_matrix(call.out(0).rows(), call.out(0).width(),
               SumOfPosition{input(call, memory, 0), output(call, memory, 0), shape[0], shape[1],
                             call.attributes.row == RowChoice::first});
  });
}

}  // namespace assay::ASSAY_CUDA_NAMESPACE
