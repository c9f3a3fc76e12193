#include "kernels/cuda/cuda.h"
#include "kernels/cuda/formulas.h"

// embedding: y[token] = table[ids[token]] [* scales[id]]    table: (V, d)
// count_positions: y[b, t] = offset + how many of x[b, 0..t] are not the padding; offset where it is
// add_rows:  y[b, t] = x[b, t] + table[t] or table[0]
namespace assay::ASSAY_CUDA_NAMESPACE {
namespace {

struct Gather {
  const std::int32_t* ids;
  In table, scales;
  Out y;
  std::int64_t width;

  ON_DEVICE void operator()(std::int64_t token, std::int64_t first) const {
    const std::int64_t id = ids[token];
    Pack pack = table.pack(id, first, width);
    if (scales.present()) {
      const float scale = scales(id);
      for (float& value : pack.value) value *= scale;
    }
    y.set_pack(token, first, width, pack);
  }
};

struct AddRows {
  In x, table;
  Out y;
  std::int64_t seq, width;
  bool by_position;

  ON_DEVICE void operator()(std::int64_t token, std::int64_t first) const {
    Pack pack = x.pack(token, first, width);
    const Pack more = table.pack(by_position ? token % seq : 0, first, width);
    for (int i = 0; i < pack_width; ++i) pack.value[i] += more.value[i];
    y.set_pack(token, first, width, pack);
  }
};

/// A thread a row: rows are few and short beside everything else.
struct CountPositions {
  In tokens, held;
  std::int32_t* positions;
  std::int64_t seq;
  std::int32_t offset;
  float padding;

  ON_DEVICE void operator()(std::int64_t row, std::int64_t) const {
    std::int32_t last = offset + (held.present() ? static_cast<std::int32_t>(held(row)) : 0);
    for (std::int64_t i = 0; i < seq; ++i) {
      const bool is_real = !tokens.present() || tokens(row, i) != padding;
      positions[row * seq + i] = is_real ? ++last : offset;
    }
  }
};

}  // namespace

Offer prepare_count_positions(const Call& call, const MachineFacts&) {
  return offer("a thread a row", [call](const Memory& memory) {
    for_matrix(call.out(0).rows(), 1,
               CountPositions{input(call, memory, 0), input(call, memory, 1), memory.out<std::int32_t>(0),
                              call.out(0).width(), static_cast<std::int32_t>(call.attributes.offset),
                              static_cast<float>(call.attributes.padding_id)});
  });
}

Offer prepare_embedding(const Call& call, const MachineFacts&) {
  if (call.in(0).dtype != DType::s32) return Declined{"ids are not s32"};
  return offer("a pack of columns a thread", [call](const Memory& memory) {
    const std::int64_t width = call.in(1).shape[1];
    for_packs(call.out(0).rows(), width,
              Gather{memory.in<std::int32_t>(0), input(call, memory, 1), input(call, memory, 2),
                     output(call, memory, 0), width});
  });
}

Offer prepare_add_rows(const Call& call, const MachineFacts&) {
  return offer("a pack of columns a thread", [call](const Memory& memory) {
    const Shape& shape = call.in(0).shape;
    for_packs(shape[0] * shape[1], shape[2],
              AddRows{input(call, memory, 0), input(call, memory, 1), output(call, memory, 0), shape[1], shape[2],
                      call.attributes.row == RowChoice::by_position});
  });
}

}  // namespace assay::ASSAY_CUDA_NAMESPACE
