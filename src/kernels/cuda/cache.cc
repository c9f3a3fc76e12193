#include "kernels/cuda/attention.h"
#include "kernels/cuda/cuda.h"

// append_cache:     new keys and values to their slots; a thread a head of a token
// cached_attention: a team a query and head, its row of scores in the workspace
// caches: (B, S, K*D), in s8 with scales (B, S, K)
namespace assay::ASSAY_CUDA_NAMESPACE {
namespace {

/// Which of its row's tokens each new one is.
struct Numbers {
  In mask, lengths;
  std::int64_t seq;

  ON_DEVICE bool is_real(std::int64_t token) const { return !mask.present() || mask(token) != 0; }
  /// Tokens of the row before `token`, which is (batch, t).
  ON_DEVICE std::int64_t before(std::int64_t token) const {
    const std::int64_t batch = token / seq;
    auto number = static_cast<std::int64_t>(lengths(batch));
    for (std::int64_t i = batch * seq; i < token; ++i) number += is_real(i) ? 1 : 0;
    return number;
  }
};

struct Kept {
  In from;
  Out to, scales;

  ON_DEVICE void keep(std::int64_t token, std::int64_t slot, std::int64_t head, std::int64_t head_dim) const {
    float scale = 1;
    if (scales.present()) {
      float largest = 0;
      for (std::int64_t i = 0; i < head_dim; ++i) largest = fmaxf(largest, fabsf(from(token, head * head_dim + i)));
      scale = largest / 127;
      scales.set(slot, head, scale);
    }
    for (std::int64_t i = 0; i < head_dim; ++i)
      to.set(slot, head * head_dim + i, scale == 0 ? 0 : from(token, head * head_dim + i) / scale);
  }
};

struct Append {
  Kept keys, values;
  Numbers numbers;
  std::int64_t slots, head_dim;

  ON_DEVICE void operator()(std::int64_t token, std::int64_t head) const {
    if (!numbers.is_real(token)) return;
    const std::int64_t slot = token / numbers.seq * slots + numbers.before(token) % slots;
    keys.keep(token, slot, head, head_dim);
    values.keep(token, slot, head, head_dim);
  }
};

struct AttendToCache {
  Heads h;
  In q, k, v, k_scales, v_scales;
  Numbers numbers;
  Out y;
  std::int64_t slots;
  float* rows;  ///< (teams, slots)

  ON_DEVICE void operator()(std::int64_t item, const Team& team) const {
    const std::int64_t token = item / h.heads;
    const std::int64_t head = item % h.heads;
    const std::int64_t kv_head = h.key_column(head) / h.head_dim;
    const std::int64_t end = numbers.before(token) + (numbers.is_real(token) ? 1 : 0);
    const std::int64_t begin = h.window > 0 && end > h.window ? end - h.window : 0;
    const std::int64_t first_slot = token / h.seq * slots;
    const auto slot = [&](std::int64_t key) { return first_slot + (begin + key) % slots; };
    const Positions keys = {0, end - begin};
    float* row = rows + team.index * slots;
    for (std::int64_t key = team.rank; key < keys.end; key += team.size) {
      const float product = dot(q, token, h.query_column(head), k, slot(key), h.key_column(head), h.head_dim);
      row[key] = h.capped(h.scale * product * (k_scales.present() ? k_scales(slot(key), kv_head) : 1.0F));
    }
    team.wait();
    const auto score = [row](std::int64_t key) { return row[key]; };
    const RowSoftmax softmax = row_softmax(h, team, keys, score, [](std::int64_t) { return true; });
    team.wait();
    for (std::int64_t key = team.rank; key < keys.end; key += team.size) row[key] = softmax.probability(h, row[key]);
    team.wait();
    for (std::int64_t i = team.rank; i < h.head_dim; i += team.size) {
      float sum = 0;
      for (std::int64_t key = 0; key < keys.end; ++key) {
        const float scale = v_scales.present() ? v_scales(slot(key), kv_head) : 1.0F;
        sum += row[key] * scale * v(slot(key), h.key_column(head) + i);
      }
      y.set(token, h.query_column(head) + i, sum);
    }
  }
};

}  // namespace

Offer prepare_append_cache(const Call& call, const MachineFacts&) {
  return offer("a thread a head of a token", [call](const Memory& memory) {
    for_matrix(call.in(0).rows(), call.attributes.kv_heads,
               Append{{input(call, memory, 0), output(call, memory, 0), output(call, memory, 2)},
                      {input(call, memory, 1), output(call, memory, 1), output(call, memory, 3)},
                      {input(call, memory, 2), input(call, memory, 3), call.in(0).shape[1]},
                      call.out(0).shape[1],
                      call.attributes.head_dim});
  });
}

Offer prepare_cached_attention(const Call& call, const MachineFacts&) {
  const std::int64_t slots = call.in(1).shape[1];
  return offer_product(
      "a team of threads a query, f32 sums",
      [call, slots](const Memory& memory) {
        const Heads h = heads_of(call, call.in(0).shape[0], call.in(0).shape[1]);
        for_rows(h.batches * h.seq * h.heads, slots > h.head_dim ? slots : h.head_dim,
                 AttendToCache{h,
                               input(call, memory, 0),
                               input(call, memory, 1),
                               input(call, memory, 2),
                               input(call, memory, 5),
                               input(call, memory, 6),
                               {input(call, memory, 3), input(call, memory, 4), h.seq},
                               output(call, memory, 0),
                               slots,
                               reinterpret_cast<float*>(memory.workspace)});
      },
      static_cast<std::size_t>(most_teams * slots) * sizeof(float));
}

}  // namespace assay::ASSAY_CUDA_NAMESPACE
