#include "base/threads.h"
#include "kernels/reference/attention_rows.h"
#include "kernels/reference/loops.h"

namespace assay::reference {
namespace {

/// Of a query and a key: the table's row, and which of the two meets it.
struct Pair {
  std::int64_t row;
  std::int64_t token;
};
Pair pair_of(const Attributes& a, std::int64_t query, std::int64_t key) {
  return {relative_row(a.relative, query - key), a.scored_by == ScoredBy::query ? query : key};
}

}  // namespace

void relative_scores(const Call& call, const Memory& memory) {
  const Attributes& a = call.attributes;
  const std::int64_t seq = call.in(0).shape[3];
  const Reader scores = reader(call, memory, 0);
  const Reader x = reader(call, memory, 1);
  const Reader table = reader(call, memory, 2);
  const Writer sums = writer(call, memory, 0);
  for_each_query(call, call.in(0).shape[0], seq,
                 [&](std::int64_t, std::int64_t batch, std::int64_t head, std::int64_t query) {
                   const std::int64_t row = (batch * a.heads + head) * seq + query;
                   for (std::int64_t key = 0; key < seq; ++key) {
                     const Pair pair = pair_of(a, query, key);
                     double sum = 0;
                     for (std::int64_t i = head * a.head_dim; i < (head + 1) * a.head_dim; ++i)
                       sum += x(batch * seq + pair.token, i) * table(pair.row, i);
                     sums.set(row, key, scores(row, key) + a.scale * sum);
                   }
                 });
}

void relative_input_gradient(const Call& call, const Memory& memory) {
  const Attributes& a = call.attributes;
  const std::int64_t seq = call.in(0).shape[3];
  const Reader ds = reader(call, memory, 0);
  const Reader table = reader(call, memory, 1);
  const Writer dx = writer(call, memory, 0);
  const bool by_query = a.scored_by == ScoredBy::query;
  for_each_query(call, call.in(0).shape[0], seq,
                 [&](std::int64_t, std::int64_t batch, std::int64_t head, std::int64_t token) {
                   const std::int64_t first = (batch * a.heads + head) * seq;
                   for (std::int64_t i = head * a.head_dim; i < (head + 1) * a.head_dim; ++i) {
                     double sum = 0;
                     for (std::int64_t other = 0; other < seq; ++other) {
                       const std::int64_t query = by_query ? token : other;
                       const std::int64_t key = by_query ? other : token;
                       sum += ds(first + query, key) * table(pair_of(a, query, key).row, i);
                     }
                     dx.set(batch * seq + token, i, a.scale * sum);
                   }
                 });
}

void relative_table_gradient(const Call& call, const Memory& memory) {
  const Attributes& a = call.attributes;
  const std::int64_t batches = call.in(0).shape[0];
  const std::int64_t seq = call.in(0).shape[3];
  const std::int64_t width = a.heads * a.head_dim;
  const Reader ds = reader(call, memory, 0);
  const Reader x = reader(call, memory, 1);
  const Writer dtable = writer(call, memory, 0);
  parallel_for(2 * a.relative.span, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      for (std::int64_t i = 0; i < width; ++i) {
        double sum = 0;
        for (std::int64_t distance = 1 - seq; distance < seq; ++distance) {
          if (relative_row(a.relative, distance) != row) continue;
          for (std::int64_t at = 0; at < batches * seq; ++at) {
            const std::int64_t query = at % seq;
            const std::int64_t key = query - distance;
            if (key < 0 || key >= seq) continue;
            const std::int64_t matrix = at / seq * a.heads + i / a.head_dim;
            sum += ds(matrix * seq + query, key) * x(at - query + pair_of(a, query, key).token, i);
          }
        }
        dtable.set(row, i, a.scale * sum);
      }
    }
  });
}

}  // namespace assay::reference
