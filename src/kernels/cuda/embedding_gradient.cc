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

/// order[place] = token, sorted by id, tokens of one id in their own order. A team a token counts who comes before it;
/// counts below 2^24 are exact in f32.
struct PlaceOfToken {
  const std::int32_t* ids;
  std::int32_t* order;
  std::int64_t tokens;

  ON_DEVICE void operator()(std::int64_t token, const Team& team) const {
    const std::int32_t id = ids[token];
    float before = 0;
    for (std::int64_t other = team.rank; other < tokens; other += team.size)
      before += ids[other] < id || (ids[other] == id && other < token) ? 1 : 0;
    const float place = team.sum(before);
    if (team.rank == 0) order[static_cast<std::int64_t>(place)] = static_cast<std::int32_t>(token);
  }
};

/// A team a place; that of an id's first token adds up all of them.
struct SumOfId {
  const std::int32_t* ids;
  const std::int32_t* order;
  In dy, table;
  Out result;
  std::int64_t tokens, width, padding_id;

  ON_DEVICE void operator()(std::int64_t place, const Team& team) const {
    const std::int32_t id = ids[order[place]];
    if (id == padding_id || (place > 0 && ids[order[place - 1]] == id)) return;
    for (std::int64_t column = team.rank; column < width; column += team.size) {
      float sum = 0;
      for (std::int64_t i = place; i < tokens && ids[order[i]] == id; ++i) sum += dy(order[i], column);
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
  const std::int64_t tokens = call.in(1).rows();
  if (tokens >= std::int64_t{1} << 24) return Declined{"more tokens than places are counted"};
  const auto run = [call, tokens](const Memory& memory) {
    const Out table = output(call, memory, 0);
    const std::int64_t width = call.out(0).width();
    for_packs(call.out(0).rows(), width, Start{input(call, memory, 2), table, width});
    const In before{table.data, table.stride, table.dtype};
    const auto* ids = memory.in<std::int32_t>(0);
    auto* order = reinterpret_cast<std::int32_t*>(memory.workspace);
    for_rows(tokens, tokens, PlaceOfToken{ids, order, tokens});
    for_rows(tokens, width,
             SumOfId{ids, order, input(call, memory, 1), before, table, tokens, width, call.attributes.padding_id});
  };
  return offer("sums in the tokens' order", run, static_cast<std::size_t>(tokens) * sizeof(std::int32_t));
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
