#include "kernels/cuda/attention.h"

#include "kernels/cuda/cuda.h"

// scores = scale q k^T            (B, H, T, T)
// p = softmax(scores)             through attention's soft cap if there is one, over the keys that a query sees; zeros
// where it sees none y = scale p v                   (B, T, H*D) z = scale p^T y                 (B, T, K*D): summed
// over the query heads of a key head ds = p (dp - sum of p dp)
namespace assay::ASSAY_CUDA_NAMESPACE {
namespace {

struct Scores {
  Heads h;
  In q, k;
  Out scores;

  ON_DEVICE void operator()(std::int64_t row, std::int64_t key) const {
    const std::int64_t batch = row / (h.heads * h.seq);
    const std::int64_t head = row / h.seq % h.heads;
    const float sum = dot(q, batch * h.seq + row % h.seq, h.query_column(head), k, batch * h.seq + key,
                          h.key_column(head), h.head_dim);
    scores.set(row, key, h.scale * sum);
  }
};

struct Softmax {
  Heads h;
  In scores;
  Visible visible;
  Out probabilities;

  ON_DEVICE void operator()(std::int64_t row, const Team& team) const {
    const std::int64_t batch = row / (h.heads * h.seq);
    const auto score = [&](std::int64_t key) { return h.capped(scores(row, key)); };
    const auto sees = [&](std::int64_t key) { return visible(batch, row % h.seq, key); };
    const RowSoftmax softmax = row_softmax(h, team, h.keys_of(row % h.seq), score, sees);
    for (std::int64_t key = team.rank; key < h.seq; key += team.size)
      probabilities.set(row, key, sees(key) ? softmax.probability(h, score(key)) : 0);
  }
};

struct Context {
  Heads h;
  In p, v;
  Out y;

  ON_DEVICE void operator()(std::int64_t token, std::int64_t column) const {
    const std::int64_t batch = token / h.seq;
    const std::int64_t head = column / h.head_dim;
    const std::int64_t row = (batch * h.heads + head) * h.seq + token % h.seq;
    float sum = 0;
    for (std::int64_t key = 0; key < h.seq; ++key)
      sum += p(row, key) * v(batch * h.seq + key, h.key_column(head) + column % h.head_dim);
    y.set(token, column, h.scale * sum);
  }
};

struct ContextTransposed {
  Heads h;
  In p, y;
  Out z;

  ON_DEVICE void operator()(std::int64_t token, std::int64_t column) const {
    const std::int64_t batch = token / h.seq;
    const std::int64_t group = h.heads / h.kv_heads;
    const std::int64_t first = column / h.head_dim * group;
    float sum = 0;
    for (std::int64_t head = first; head < first + group; ++head) {
      const std::int64_t row = (batch * h.heads + head) * h.seq;
      for (std::int64_t query = 0; query < h.seq; ++query)
        sum += p(row + query, token % h.seq) * y(batch * h.seq + query, h.query_column(head) + column % h.head_dim);
    }
    z.set(token, column, h.scale * sum);
  }
};

struct SoftmaxGradient {
  In dp, p;
  Out ds;
  std::int64_t width;

  ON_DEVICE void operator()(std::int64_t row, const Team& team) const {
    float mine = 0;
    for (std::int64_t i = team.rank; i < width; i += team.size) {
      const float probability = p(row, i);
      mine += probability == 0 ? 0 : probability * dp(row, i);
    }
    const float mean = team.sum(mine);
    for (std::int64_t i = team.rank; i < width; i += team.size) {
      const float probability = p(row, i);
      ds.set(row, i, probability == 0 ? 0 : probability * (dp(row, i) - mean));
    }
  }
};

}  // namespace

Offer prepare_plain_attention_scores(const Call& call, const MachineFacts&) {
  return offer_product("a thread an output, f32 sums", [call](const Memory& memory) {
    const Heads h = heads_of(call, call.in(0).shape[0], call.in(0).shape[1]);
    for_matrix(h.batches * h.heads * h.seq, h.seq,
               Scores{h, input(call, memory, 0), input(call, memory, 1), output(call, memory, 0)});
  });
}

Offer prepare_softmax(const Call& call, const MachineFacts&) {
  return offer("a team of threads a row", [call](const Memory& memory) {
    const Shape& shape = call.in(0).shape;  // (B, H, T, T)
    Heads h = heads_of(call, shape[0], shape[3]);
    h.heads = shape[1];
    for_rows(shape[0] * shape[1] * shape[3], shape[3],
             Softmax{h, input(call, memory, 0), {input(call, memory, 1), h}, output(call, memory, 0)});
  });
}

Offer prepare_plain_attention_context(const Call& call, const MachineFacts&) {
  return offer_product("a thread an output, f32 sums", [call](const Memory& memory) {
    const Heads h = heads_of(call, call.in(0).shape[0], call.in(0).shape[3]);
    for_matrix(h.batches * h.seq, h.heads * h.head_dim,
               Context{h, input(call, memory, 0), input(call, memory, 1), output(call, memory, 0)});
  });
}

Offer prepare_plain_attention_context_transposed(const Call& call, const MachineFacts&) {
  return offer_product("a thread an output, f32 sums", [call](const Memory& memory) {
    const Heads h = heads_of(call, call.in(0).shape[0], call.in(0).shape[3]);
    for_matrix(h.batches * h.seq, h.kv_heads * h.head_dim,
               ContextTransposed{h, input(call, memory, 0), input(call, memory, 1), output(call, memory, 0)});
  });
}

Offer prepare_softmax_gradient(const Call& call, const MachineFacts&) {
  return offer("a team of threads a row", [call](const Memory& memory) {
    const std::int64_t width = call.in(0).width();
    for_rows(call.in(0).rows(), width,
             SoftmaxGradient{input(call, memory, 0), input(call, memory, 1), output(call, memory, 0), width});
  });
}

}  // namespace assay::ASSAY_CUDA_NAMESPACE
