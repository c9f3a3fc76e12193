#include "base/threads.h"
#include "kernels/reference/access.h"
#include "kernels/reference/loops.h"

namespace assay::reference {

void embedding(const Call& call, const Memory& memory) {
  const Argument& table = call.in(1);
  const std::int64_t width = table.shape[1];
  const Reader ids = reader(call, memory, 0);
  const Reader scales = reader(call, memory, 2);
  const Writer y = writer(call, memory, 0);
  const auto offset = [&](std::int64_t row, std::int64_t column) {
    if (table.packing.kind == Packing::Kind::panels) return panel_offset(table.packing, width, row, column);
    return row * table.row_stride + column;
  };
  parallel_for(call.out(0).rows(), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t token = begin; token < end; ++token) {
      const auto id = static_cast<std::int64_t>(ids(token));
      const double scale = scales.present() ? scales(id) : 1;
      for (std::int64_t i = 0; i < width; ++i)
        y.set(token, i, scale * load(table.dtype, memory.in<std::byte>(1), offset(id, i)));
    }
  });
}

void count_positions(const Call& call, const Memory& memory) {
  const std::int64_t seq = call.out(0).width();
  const Reader tokens = reader(call, memory, 0);
  const Reader held = reader(call, memory, 1);
  auto* const positions = memory.out<std::int32_t>(0);
  parallel_for(call.out(0).rows(), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      std::int64_t last = call.attributes.offset + (held.present() ? static_cast<std::int64_t>(held(row)) : 0);
      for (std::int64_t i = 0; i < seq; ++i) {
        const bool is_real =
            !tokens.present() || static_cast<std::int64_t>(tokens(row, i)) != call.attributes.padding_id;
        positions[row * seq + i] = static_cast<std::int32_t>(is_real ? ++last : call.attributes.offset);
      }
    }
  });
}

}  // namespace assay::reference
