#include "kernels/cuda/attention.h"

#include "kernels/cuda/cuda.h"

// Plain attention: a team a query, its row of scores in the workspace. Neither scores nor probabilities are rounded
// unless attributes.math is a 16-bit dtype.
namespace assay::ASSAY_CUDA_NAMESPACE {
namespace {

struct Attend {
  Heads h;
  In q, k, v;
  Visible visible;
  Out y;
  float* rows;  ///< (teams, T)

  ON_DEVICE void operator()(std::int64_t item, const Team& team) const {
    const std::int64_t query = item % h.seq;
    const std::int64_t head = item / h.seq % h.heads;
    const std::int64_t batch = item / (h.seq * h.heads);
    float* row = rows + team.index * h.seq;
    const Positions keys = h.keys_of(query);
    fill_scores(row, batch, head, query, team);
    const auto score = [row](std::int64_t key) { return row[key]; };
    const auto sees = [&](std::int64_t key) { return visible(batch, query, key); };
    const RowSoftmax softmax = row_softmax(h, team, keys, score, sees);
    team.wait();
    for (std::int64_t key = keys.begin + team.rank; key < keys.end; key += team.size)
      row[key] = sees(key) ? softmax.probability(h, row[key]) : 0;
    team.wait();
    for (std::int64_t i = team.rank; i < h.head_dim; i += team.size) {
      float sum = 0;
      for (std::int64_t key = keys.begin; key < keys.end; ++key) {
        if (row[key] != 0) sum += row[key] * v(batch * h.seq + key, h.key_column(head) + i);
      }
      y.set(batch * h.seq + query, h.query_column(head) + i, sum);
    }
  }

  ON_DEVICE void fill_scores(float* row, std::int64_t batch, std::int64_t head, std::int64_t query,
                             const Team& team) const {
    const Positions keys = h.keys_of(query);
    for (std::int64_t key = keys.begin + team.rank; key < keys.end; key += team.size) {
      if (!visible(batch, query, key)) continue;
      row[key] = h.capped(h.scale * dot(q, batch * h.seq + query, h.query_column(head), k, batch * h.seq + key,
                                        h.key_column(head), h.head_dim));
    }
    team.wait();
  }
};

}  // namespace

Offer prepare_plain_attention(const Call& call, const MachineFacts&) {
  const std::int64_t seq = call.in(0).shape[1];
  return offer_product(
      "a team of threads a query, f32 sums",
      [call, seq](const Memory& memory) {
        const Heads h = heads_of(call, call.in(0).shape[0], seq);
        for_rows(h.batches * h.heads * h.seq, seq > h.head_dim ? seq : h.head_dim,
                 Attend{h,
                        input(call, memory, 0),
                        input(call, memory, 1),
                        input(call, memory, 2),
                        {input(call, memory, 3), h},
                        output(call, memory, 0),
                        reinterpret_cast<float*>(memory.workspace)});
      },
      static_cast<std::size_t>(most_teams * seq) * sizeof(float));
}

}  // namespace assay::ASSAY_CUDA_NAMESPACE
