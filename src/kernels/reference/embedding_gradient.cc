#include "base/threads.h"
#include "kernels/reference/access.h"
#include "kernels/reference/loops.h"

namespace assay::reference {
namespace {

/// The table starts as `onto`, which may be the same memory, or zero.
void start_table(const Call& call, const Memory& memory, std::size_t onto_place) {
  const Reader onto = reader(call, memory, onto_place);
  const Writer table = writer(call, memory, 0);
  for (std::int64_t row = 0; row < call.out(0).rows(); ++row) {
    for (std::int64_t i = 0; i < call.out(0).width(); ++i) table.set(row, i, onto.present() ? onto(row, i) : 0);
  }
}

}  // namespace

// The sum over the tokens of one id is kept in f64 and rounded once, whatever the table's dtype.
void embedding_gradient(const Call& call, const Memory& memory) {
  const Reader ids = reader(call, memory, 0);
  const Reader dy = reader(call, memory, 1);
  const std::int64_t tokens = call.in(1).rows();
  start_table(call, memory, 2);
  const Reader table(call.out(0), memory.out<std::byte>(0));
  const Writer result = writer(call, memory, 0);
  parallel_for(call.out(0).width(), 1, [&](std::int64_t begin, std::int64_t end) {
    std::vector<double> sums(static_cast<std::size_t>(call.out(0).rows()));
    for (std::int64_t i = begin; i < end; ++i) {
      std::fill(sums.begin(), sums.end(), 0.0);
      for (std::int64_t token = 0; token < tokens; ++token) {
        const auto id = static_cast<std::int64_t>(ids(token));
        if (id != call.attributes.padding_id) sums[static_cast<std::size_t>(id)] += dy(token, i);
      }
      for (std::int64_t row = 0; row < call.out(0).rows(); ++row) {
        const double sum = sums[static_cast<std::size_t>(row)];
        if (sum != 0) result.set(row, i, table(row, i) + sum);
      }
    }
  });
}

void add_rows_gradient(const Call& call, const Memory& memory) {
  const Shape& shape = call.in(0).shape;  // (B, T, d)
  const Reader dy = reader(call, memory, 0);
  const Writer table = writer(call, memory, 0);
  const std::int64_t first_only = call.attributes.row == RowChoice::first ? 1 : 0;
  for (std::int64_t row = 0; row < call.out(0).rows(); ++row) {
    for (std::int64_t i = 0; i < call.out(0).width(); ++i) {
      double sum = 0;
      for (std::int64_t token = 0; token < shape[0] * shape[1]; ++token) {
        const std::int64_t to = first_only != 0 ? 0 : token % shape[1];
        if (to == row) sum += dy(token, i);
      }
      table.set(row, i, sum);
    }
  }
}

}  // namespace assay::reference
