#include <fmt/format.h>

#include <algorithm>

#include "kernels/block_linear.h"
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/rows.h"

namespace assay::cpu {
namespace {

/// Every row is decoded where it lies: in the table's own order, or among the panels of a head that shares it.
void decode_rows(const Call& call, const Memory& memory, std::int64_t begin, std::int64_t end) {
  const BlockFormat& format = *call.attributes.blocks;
  const Argument& table = call.in(1);
  const Argument& y = call.out(0);
  const BlockRows rows = {format, table.packing, memory.in<std::byte>(1), table.shape[1]};
  GroupedCodes codes;
  float values[most_block_elements];
  for (std::int64_t token = begin; token < end; ++token) {
    const std::int64_t id = memory.in<std::int32_t>(0)[token];
    for (std::int64_t i = 0; i < y.width(); i += format.elements) {
      rows.decode(id, i / format.elements, codes);
      expand_codes(format, codes, values);
      const std::int64_t to = token * y.row_stride + i;
      convert(DType::f32, values, y.dtype, memory.out<std::byte>(0) + to * static_cast<std::int64_t>(size_of(y.dtype)),
              static_cast<std::size_t>(std::min(format.elements, y.width() - i)));
    }
  }
}

}  // namespace

Offer block_embedding_rows(const Call& call, const MachineFacts& facts) {
  if (!is_float(call.out(0).dtype)) return Declined{"the output is no float"};
  const std::int64_t rows = call.out(0).rows();
  const auto run = [call, rows](const Memory& memory) {
    for_parts(rows, call.out(0).width(), call.threads,
              [&](std::int64_t, std::int64_t begin, std::int64_t end) { decode_rows(call, memory, begin, end); });
  };
  Prepared prepared;
  prepared.kernel = make_kernel(run);
  prepared.description = fmt::format("rows of {}, decoded", call.attributes.blocks->name);
  prepared.evidence = choose_vector_target(facts);
  prepared.packing = {{}, call.in(1).packing};
  return prepared;
}

}  // namespace assay::cpu
