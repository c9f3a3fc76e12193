#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/threads.h"
#include "kernels/reference/access.h"

/// What the loops of attention and of its gradient share.
namespace assay::reference {

/// Which keys a query sees.
struct Visible {
  Reader mask;
  std::int64_t seq;
  const Attributes& attributes;

  bool operator()(std::int64_t batch, std::int64_t query, std::int64_t key) const {
    const SeenKeys seen = seen_keys(attributes, query, seq);
    return seen.begin <= key && key < seen.end && (!mask.present() || mask(batch * seq + key) != 0);
  }
};

constexpr double no_sink = -std::numeric_limits<double>::infinity();
/// The score of no key of a head.
struct Sinks {
  Reader sinks;

  double operator()(std::int64_t head) const { return sinks.present() ? sinks(head) : no_sink; }
};

/// probabilities(key) of one query from score(key), written through out(key, p). Zeros where it sees nothing.
template <typename Score, typename Sees, typename Out>
void softmax_row(const Math& math, std::int64_t seq, Score score, Sees sees, Out out, double sink = no_sink) {
  double largest = sink;
  for (std::int64_t key = 0; key < seq; ++key) {
    if (sees(key)) largest = std::max(largest, score(key));
  }
  const auto weight = [&](std::int64_t key) {
    return sees(key) ? math(std::exp(math(math(score(key)) - math(largest)))) : 0.0;
  };
  double sum = sink == no_sink ? 0 : math(std::exp(math(math(sink) - math(largest))));
  for (std::int64_t key = 0; key < seq; ++key) sum = math(sum + weight(key));
  for (std::int64_t key = 0; key < seq; ++key) out(key, sum == 0 ? 0 : math(weight(key) / sum));
}

/// The columns of q, k and v at which query head `head` works.
struct Columns {
  std::int64_t query;
  std::int64_t key;
};
inline Columns columns(const Attributes& a, std::int64_t head) {
  return {head * a.head_dim, head / (a.heads / a.kv_heads) * a.head_dim};
}

/// One score, before a soft cap.
inline double scaled_dot(const Attributes& a, const Reader& q, const Reader& k, std::int64_t q_row, std::int64_t k_row,
                         const Columns& at) {
  double sum = 0;
  for (std::int64_t i = 0; i < a.head_dim; ++i) sum += q(q_row, at.query + i) * k(k_row, at.key + i);
  return a.scale * sum;
}

/// body(batch, head, query) for each of them, and the number of the part of the work that it belongs to.
template <typename Body>
void for_each_query(const Call& call, std::int64_t batches, std::int64_t seq, Body body) {
  const std::int64_t heads = call.attributes.heads;
  const std::int64_t count = batches * heads * seq;
  const std::int64_t parts = std::max(call.threads, 1);
  parallel_for(parts, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t part = begin; part < end; ++part) {
      for (std::int64_t i = count * part / parts; i < count * (part + 1) / parts; ++i)
        body(part, i / (heads * seq), i / seq % heads, i % seq);
    }
  });
}

}  // namespace assay::reference
