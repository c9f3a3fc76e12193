#include "kernels/cuda/attention.h"

#include "kernels/cuda/cuda.h"

// With p = softmax(scale q k^T), which may go through a soft cap, whose slope ds is multiplied by, dp = dy v^T and ds =
// p (dp - sum over keys of p dp):
//   dq = scale ds k    dk = scale ds^T q    dv = p^T dy    (both summed over the query heads of a key head)
// A team a query makes dq and keeps what recomputes its probabilities; then a team a key makes dk and dv. No atomics.
namespace assay::ASSAY_CUDA_NAMESPACE {
namespace {

struct RowState {
  RowSoftmax softmax;
  float mean;  ///< sum over keys of p dp
};

struct Tensors {
  Heads h;
  In dy, q, k, v;
  Visible visible;
  Out dq, dk, dv;
  RowState* states;  ///< (B, H, T)
  float* scratch;    ///< (teams, 3 T + 2 D)

  ON_DEVICE float* scratch_of(const Team& team) const { return scratch + team.index * (3 * h.seq + 2 * h.head_dim); }
  ON_DEVICE float score(std::int64_t batch, std::int64_t head, std::int64_t query, std::int64_t key) const {
    return h.capped(h.scale * dot(q, batch * h.seq + query, h.query_column(head), k, batch * h.seq + key,
                                  h.key_column(head), h.head_dim));
  }
  /// Element of dp.
  ON_DEVICE float given(std::int64_t batch, std::int64_t head, std::int64_t query, std::int64_t key) const {
    return dot(dy, batch * h.seq + query, h.query_column(head), v, batch * h.seq + key, h.key_column(head), h.head_dim);
  }
};

struct OfQuery {
  Tensors t;

  ON_DEVICE void operator()(std::int64_t item, const Team& team) const {
    const Heads& h = t.h;
    const std::int64_t query = item % h.seq;
    const std::int64_t head = item / h.seq % h.heads;
    const std::int64_t batch = item / (h.seq * h.heads);
    float* row = t.scratch_of(team);
    float* ds = row + h.seq;
    float* slopes = ds + h.seq;
    const Positions keys = h.keys_of(query);
    const auto sees = [&](std::int64_t key) { return t.visible(batch, query, key); };
    for (std::int64_t key = keys.begin + team.rank; key < keys.end; key += team.size)
      row[key] = sees(key) ? t.score(batch, head, query, key) : 0;
    team.wait();
    const RowSoftmax softmax = row_softmax(h, team, keys, [row](std::int64_t key) { return row[key]; }, sees);
    team.wait();
    float mean = 0;
    for (std::int64_t key = keys.begin + team.rank; key < keys.end; key += team.size) {
      const float score = row[key];
      row[key] = sees(key) ? softmax.probability(h, score) : 0;
      ds[key] = row[key] == 0 ? 0 : t.given(batch, head, query, key);
      mean += row[key] * ds[key];
      slopes[key] = soft_cap_slope(score, h.cap);
    }
    mean = team.sum(mean);
    for (std::int64_t key = keys.begin + team.rank; key < keys.end; key += team.size)
      ds[key] = row[key] * (ds[key] - mean) * slopes[key];
    if (team.rank == 0) t.states[item] = {softmax, mean};
    team.wait();
    for (std::int64_t i = team.rank; i < h.head_dim; i += team.size) {
      float sum = 0;
      for (std::int64_t key = keys.begin; key < keys.end; ++key) {
        if (ds[key] != 0) sum += ds[key] * t.k(batch * h.seq + key, h.key_column(head) + i);
      }
      t.dq.set(batch * h.seq + query, h.query_column(head) + i, h.scale * sum);
    }
  }
};

struct OfKey {
  Tensors t;

  ON_DEVICE void operator()(std::int64_t item, const Team& team) const {
    const Heads& h = t.h;
    const std::int64_t key = item % h.seq;
    const std::int64_t key_head = item / h.seq % h.kv_heads;
    const std::int64_t batch = item / (h.seq * h.kv_heads);
    const std::int64_t group = h.heads / h.kv_heads;
    float* k_sums = t.scratch_of(team) + 2 * h.seq;
    float* v_sums = k_sums + h.head_dim;
    for (std::int64_t i = team.rank; i < h.head_dim; i += team.size) k_sums[i] = v_sums[i] = 0;
    for (std::int64_t head = key_head * group; head < (key_head + 1) * group; ++head) add_head(batch, head, key, team);
    for (std::int64_t i = team.rank; i < h.head_dim; i += team.size) {
      t.dk.set(batch * h.seq + key, key_head * h.head_dim + i, h.scale * k_sums[i]);
      t.dv.set(batch * h.seq + key, key_head * h.head_dim + i, v_sums[i]);
    }
  }

  ON_DEVICE void add_head(std::int64_t batch, std::int64_t head, std::int64_t key, const Team& team) const {
    const Heads& h = t.h;
    float* p = t.scratch_of(team);
    float* ds = p + h.seq;
    const Positions queries = h.queries_of(key);
    for (std::int64_t query = queries.begin + team.rank; query < queries.end; query += team.size) {
      p[query] = ds[query] = 0;
      if (!t.visible(batch, query, key)) continue;
      const RowState& state = t.states[(batch * h.heads + head) * h.seq + query];
      const float score = t.score(batch, head, query, key);
      p[query] = state.softmax.probability(h, score);
      ds[query] = p[query] == 0 ? 0 : p[query] * (t.given(batch, head, query, key) - state.mean);
      ds[query] *= soft_cap_slope(score, h.cap);
    }
    team.wait();
    for (std::int64_t i = team.rank; i < h.head_dim; i += team.size) {
      float* k_sum = p + 2 * h.seq + i;
      float* v_sum = k_sum + h.head_dim;
      for (std::int64_t query = queries.begin; query < queries.end; ++query) {
        if (p[query] == 0) continue;
        *k_sum += ds[query] * t.q(batch * h.seq + query, h.query_column(head) + i);
        *v_sum += p[query] * t.dy(batch * h.seq + query, h.query_column(head) + i);
      }
    }
    team.wait();
  }
};

std::int64_t scratch_floats(const Heads& h) {
  return most_teams * (3 * h.seq + 2 * h.head_dim);
}

void run_attention_gradient(const Call& call, const Memory& memory) {
  const Heads h = heads_of(call, call.in(1).shape[0], call.in(1).shape[1]);
  auto* scratch = reinterpret_cast<float*>(memory.workspace);
  const Tensors t{h,
                  input(call, memory, 0),
                  input(call, memory, 1),
                  input(call, memory, 2),
                  input(call, memory, 3),
                  {input(call, memory, 4), h},
                  output(call, memory, 0),
                  output(call, memory, 1),
                  output(call, memory, 2),
                  reinterpret_cast<RowState*>(scratch + scratch_floats(h)),
                  scratch};
  const std::int64_t width = h.seq > h.head_dim ? h.seq : h.head_dim;
  for_rows(h.batches * h.heads * h.seq, width, OfQuery{t});
  for_rows(h.batches * h.kv_heads * h.seq, width, OfKey{t});
}

}  // namespace

Offer prepare_plain_attention_gradient(const Call& call, const MachineFacts&) {
  const Heads h = heads_of(call, call.in(1).shape[0], call.in(1).shape[1]);
  const auto states = static_cast<std::size_t>(h.batches * h.heads * h.seq) * sizeof(RowState);
  return offer_product(
      "a team of threads a query, then one a key; f32 sums",
      [call](const Memory& memory) { run_attention_gradient(call, memory); },
      static_cast<std::size_t>(scratch_floats(h)) * sizeof(float) + states);
}

}  // namespace assay::ASSAY_CUDA_NAMESPACE
