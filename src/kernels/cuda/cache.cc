#include <string>

#include "kernels/cuda/attention.h"
#include "kernels/cuda/cuda.h"

// append_cache:     new keys and values to their slots; a thread a head of a token
// cached_attention: a team a query and head, or a part of what it sees; its row of scores in the workspace
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

/// A part's largest score, the sum of its weights, and its weighted values, as they lie in the workspace.
struct Partials {
  float* at;  ///< (queries and heads, parts, head_dim + 2)
  std::int64_t parts, head_dim;

  ON_DEVICE float* of(std::int64_t item) const { return at + item * (head_dim + 2); }
  ON_DEVICE float* of(std::int64_t query, std::int64_t part) const { return of(query * parts + part); }
};

/// An item is a part of what a query and head sees: few queries leave most of a GPU idle where each is one item.
struct AttendToCache {
  Heads h;
  In q, k, v, k_scales, v_scales;
  Numbers numbers;
  Out y;
  std::int64_t slots;
  Partials partials;
  float* rows;  ///< (teams, slots of a part)
  std::int64_t row_slots;

  ON_DEVICE void operator()(std::int64_t item, const Team& team) const {
    const std::int64_t query = item / partials.parts;
    const std::int64_t part = item % partials.parts;
    const std::int64_t token = query / h.heads;
    const std::int64_t head = query % h.heads;
    const std::int64_t kv_head = h.key_column(head) / h.head_dim;
    const std::int64_t end = numbers.before(token) + (numbers.is_real(token) ? 1 : 0);
    const std::int64_t begin = h.window > 0 && end > h.window ? end - h.window : 0;
    const std::int64_t first = begin + (end - begin) * part / partials.parts;
    const Positions keys = {0, begin + (end - begin) * (part + 1) / partials.parts - first};
    const std::int64_t first_slot = token / h.seq * slots;
    const auto slot = [&](std::int64_t key) { return first_slot + (first + key) % slots; };
    float* row = rows + team.index * row_slots;
    for (std::int64_t key = team.rank; key < keys.end; key += team.size) {
      const float product = dot(q, token, h.query_column(head), k, slot(key), h.key_column(head), h.head_dim);
      row[key] = h.capped(h.scale * product * (k_scales.present() ? k_scales(slot(key), kv_head) : 1.0F));
    }
    team.wait();
    const auto score = [row](std::int64_t key) { return row[key]; };
    const RowSoftmax softmax = row_softmax(h, team, keys, score, [](std::int64_t) { return true; });
    const bool is_whole = partials.parts == 1;
    team.wait();
    for (std::int64_t key = team.rank; key < keys.end; key += team.size)
      row[key] = is_whole ? softmax.probability(h, row[key]) : softmax.weight(h, row[key]);
    team.wait();
    for (std::int64_t i = team.rank; i < h.head_dim; i += team.size) {
      float sum = 0;
      for (std::int64_t key = 0; key < keys.end; ++key) {
        const float scale = v_scales.present() ? v_scales(slot(key), kv_head) : 1.0F;
        sum += row[key] * scale * v(slot(key), h.key_column(head) + i);
      }
      if (is_whole)
        y.set(token, h.query_column(head) + i, sum);
      else
        partials.of(item)[2 + i] = sum;
    }
    if (is_whole || team.rank != 0) return;
    partials.of(item)[0] = softmax.largest;
    partials.of(item)[1] = softmax.sum;
  }
};

/// The parts of a query and head as one softmax; those that see nothing weigh nothing.
struct JoinParts {
  Heads h;
  Partials partials;
  Out y;

  ON_DEVICE void operator()(std::int64_t query, const Team& team) const {
    float largest = -INFINITY;
    for (std::int64_t part = 0; part < partials.parts; ++part) {
      const float* of_part = partials.of(query, part);
      if (of_part[1] > 0) largest = fmaxf(largest, of_part[0]);
    }
    for (std::int64_t i = team.rank; i < h.head_dim; i += team.size) {
      float weights = 0;
      float sum = 0;
      for (std::int64_t part = 0; part < partials.parts; ++part) {
        const float* of_part = partials.of(query, part);
        if (of_part[1] == 0) continue;
        const float weight = expf(of_part[0] - largest);
        weights += weight * of_part[1];
        sum += weight * of_part[2 + i];
      }
      y.set(query / h.heads, h.query_column(query % h.heads) + i, weights == 0 ? 0 : sum / weights);
    }
  }
};

/// Parts that each query and head is cut into, so that a few teams have each multiprocessor busy; a part has some keys
/// at least. Of lengths nothing is known when the plan is made. A softmax of 16 bits depends on the order of its keys.
std::int64_t parts_of_keys(const Call& call, const MachineFacts& facts) {
  constexpr std::int64_t teams_each = 4;
  constexpr std::int64_t fewest_slots = 32;
  constexpr std::int64_t multiprocessors_on_host = 40;  // For tests.
  if (is_16bit(call.attributes.math)) return 1;
  const std::int64_t queries = call.in(0).rows() * call.attributes.heads;
  const std::int64_t wanted = teams_each * (facts.gpu ? facts.gpu->multiprocessors : multiprocessors_on_host);
  const std::int64_t most = call.in(1).shape[1] / fewest_slots;
  const std::int64_t parts = queries == 0 ? 1 : wanted / queries;
  return parts < 1 || most < 1 ? 1 : parts < most ? parts : most;
}

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

Offer prepare_cached_attention(const Call& call, const MachineFacts& facts) {
  const std::int64_t slots = call.in(1).shape[1];
  const std::int64_t parts = parts_of_keys(call, facts);
  const std::int64_t row_slots = slots / parts + 1;
  const auto rows_floats = most_teams * row_slots;
  const std::int64_t queries = call.in(0).rows() * call.attributes.heads;
  const std::int64_t partial_floats = parts == 1 ? 0 : queries * parts * (call.attributes.head_dim + 2);
  const auto run = [=](const Memory& memory) {
    const Heads h = heads_of(call, call.in(0).shape[0], call.in(0).shape[1]);
    auto* rows = reinterpret_cast<float*>(memory.workspace);
    const Partials partials = {rows + rows_floats, parts, h.head_dim};
    for_rows(queries * parts, row_slots > h.head_dim ? row_slots : h.head_dim,
             AttendToCache{h,
                           input(call, memory, 0),
                           input(call, memory, 1),
                           input(call, memory, 2),
                           input(call, memory, 5),
                           input(call, memory, 6),
                           {input(call, memory, 3), input(call, memory, 4), h.seq},
                           output(call, memory, 0),
                           slots,
                           partials,
                           rows,
                           row_slots});
    if (parts > 1) for_rows(queries, h.head_dim, JoinParts{h, partials, output(call, memory, 0)});
  };
  Prepared prepared = offer_product("a team of threads a query, f32 sums", run,
                                    static_cast<std::size_t>(rows_floats + partial_floats) * sizeof(float));
  if (parts > 1) prepared.description += ", in " + std::to_string(parts) + " parts";
  return prepared;
}

}  // namespace assay::ASSAY_CUDA_NAMESPACE
