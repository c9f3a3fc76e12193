#include "base/threads.h"
#include "kernels/reference/attention_rows.h"
#include "kernels/reference/loops.h"

namespace assay::reference {

void attention_scores(const Call& call, const Memory& memory) {
  const Attributes& a = call.attributes;
  const std::int64_t seq = call.in(0).shape[1];
  const Reader q = reader(call, memory, 0);
  const Reader k = reader(call, memory, 1);
  const Writer scores = writer(call, memory, 0);
  for_each_query(
      call, call.in(0).shape[0], seq, [&](std::int64_t, std::int64_t batch, std::int64_t head, std::int64_t query) {
        const std::int64_t row = (batch * a.heads + head) * seq + query;
        for (std::int64_t key = 0; key < seq; ++key)
          scores.set(row, key, scaled_dot(a, q, k, batch * seq + query, batch * seq + key, columns(a, head)));
      });
}

void softmax(const Call& call, const Memory& memory) {
  const Shape& shape = call.in(0).shape;  // (B, H, T, T)
  const std::int64_t seq = shape[3];
  const Reader scores = reader(call, memory, 0);
  const Writer probabilities = writer(call, memory, 0);
  const Visible visible = {reader(call, memory, 1), seq, call.attributes};
  const Sinks sinks = {reader(call, memory, 2)};
  const Math math(call.attributes.math);
  parallel_for(shape[0] * shape[1] * seq, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      softmax_row(
          math, seq, [&](std::int64_t key) { return scores(row, key); },
          [&](std::int64_t key) { return visible(row / (shape[1] * seq), row % seq, key); },
          [&](std::int64_t key, double p) { probabilities.set(row, key, p); }, sinks(row / seq % shape[1]));
    }
  });
}

void attention_context(const Call& call, const Memory& memory) {
  const Attributes& a = call.attributes;
  const std::int64_t seq = call.in(0).shape[3];
  const Reader p = reader(call, memory, 0);
  const Reader v = reader(call, memory, 1);
  const Writer y = writer(call, memory, 0);
  for_each_query(call, call.in(0).shape[0], seq,
                 [&](std::int64_t, std::int64_t batch, std::int64_t head, std::int64_t query) {
                   const Columns at = columns(a, head);
                   const std::int64_t row = (batch * a.heads + head) * seq + query;
                   for (std::int64_t i = 0; i < a.head_dim; ++i) {
                     double sum = 0;
                     for (std::int64_t key = 0; key < seq; ++key) sum += p(row, key) * v(batch * seq + key, at.key + i);
                     y.set(batch * seq + query, at.query + i, a.scale * sum);
                   }
                 });
}

// Neither scores nor probabilities are rounded unless attributes.math is a 16-bit dtype.
void attention(const Call& call, const Memory& memory) {
  const Attributes& a = call.attributes;
  const std::int64_t seq = call.in(0).shape[1];
  const Reader q = reader(call, memory, 0);
  const Reader k = reader(call, memory, 1);
  const Reader v = reader(call, memory, 2);
  const Writer y = writer(call, memory, 0);
  const Visible visible = {reader(call, memory, 3), seq, a};
  const Sinks sinks = {reader(call, memory, 4)};
  const Math math(a.math);
  const auto one_query = [&](std::int64_t part, std::int64_t batch, std::int64_t head, std::int64_t query) {
    double* row = reinterpret_cast<double*>(memory.workspace) + part * seq;
    const Columns at = columns(a, head);
    for (std::int64_t key = 0; key < seq; ++key)
      row[key] = soft_capped(scaled_dot(a, q, k, batch * seq + query, batch * seq + key, at), a.cap);
    softmax_row(
        math, seq, [&](std::int64_t key) { return row[key]; },
        [&](std::int64_t key) { return visible(batch, query, key); }, [&](std::int64_t key, double p) { row[key] = p; },
        sinks(head));
    for (std::int64_t i = 0; i < a.head_dim; ++i) {
      double sum = 0;
      for (std::int64_t key = 0; key < seq; ++key) {
        if (row[key] != 0) sum += row[key] * v(batch * seq + key, at.key + i);
      }
      y.set(batch * seq + query, at.query + i, sum);
    }
  };
  for_each_query(call, call.in(0).shape[0], seq, one_query);
}

}  // namespace assay::reference
