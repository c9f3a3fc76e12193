#include <algorithm>
#include <cmath>

#include "kernels/reference/attention_rows.h"
#include "kernels/reference/loops.h"

namespace assay::reference {
namespace {

bool is_real(const Reader& mask, std::int64_t token) {
  return !mask.present() || mask(token) != 0;
}

/// Keys or values of one key head and token to their slot.
struct KeptHead {
  Reader from;
  Writer to;
  Writer scales;  ///< Of caches in s8.
  DType dtype;

  void keep(std::int64_t token, std::int64_t slot, std::int64_t head, std::int64_t head_dim) const {
    double largest = 0;
    for (std::int64_t i = 0; i < head_dim; ++i) largest = std::max(largest, std::abs(from(token, head * head_dim + i)));
    const auto scale = dtype == DType::s8 ? static_cast<float>(largest / 127) : 1.0F;
    for (std::int64_t i = 0; i < head_dim; ++i)
      to.set(slot, head * head_dim + i, scale == 0 ? 0 : from(token, head * head_dim + i) / scale);
    scales.set(slot, head, scale);
  }
};

/// Keys or values as they were before they were kept.
struct Kept {
  Reader cache;
  Reader scales;

  double operator()(std::int64_t slot, std::int64_t head, std::int64_t head_dim, std::int64_t i) const {
    return cache(slot, head * head_dim + i) * (scales.present() ? scales(slot, head) : 1);
  }
};

}  // namespace

void append_cache(const Call& call, const Memory& memory) {
  const Attributes& a = call.attributes;
  const std::int64_t seq = call.in(0).shape[1];
  const std::int64_t slots = call.out(0).shape[1];
  const Reader mask = reader(call, memory, 2);
  const Reader lengths = reader(call, memory, 3);
  const KeptHead keys = {reader(call, memory, 0), writer(call, memory, 0), writer(call, memory, 2), call.out(0).dtype};
  const KeptHead values = {reader(call, memory, 1), writer(call, memory, 1), writer(call, memory, 3),
                           call.out(1).dtype};
  for (std::int64_t batch = 0; batch < call.in(0).shape[0]; ++batch) {
    auto number = static_cast<std::int64_t>(lengths(batch));
    for (std::int64_t token = batch * seq; token < (batch + 1) * seq; ++token) {
      if (!is_real(mask, token)) continue;
      const std::int64_t slot = batch * slots + number++ % slots;
      for (std::int64_t head = 0; head < a.kv_heads; ++head) {
        keys.keep(token, slot, head, a.head_dim);
        values.keep(token, slot, head, a.head_dim);
      }
    }
  }
}

void cached_attention(const Call& call, const Memory& memory) {
  const Attributes& a = call.attributes;
  const std::int64_t seq = call.in(0).shape[1];
  const std::int64_t slots = call.in(1).shape[1];
  const Reader q = reader(call, memory, 0);
  const Kept k = {reader(call, memory, 1), reader(call, memory, 5)};
  const Kept v = {reader(call, memory, 2), reader(call, memory, 6)};
  const Reader mask = reader(call, memory, 3);
  const Reader lengths = reader(call, memory, 4);
  const Sinks sinks = {reader(call, memory, 7)};
  const Writer y = writer(call, memory, 0);
  const Math math(a.math);
  const auto one_query = [&](std::int64_t part, std::int64_t batch, std::int64_t head, std::int64_t query) {
    double* scores = reinterpret_cast<double*>(memory.workspace) + part * slots;
    const Columns at = columns(a, head);
    const std::int64_t kv_head = at.key / a.head_dim;
    auto tokens = static_cast<std::int64_t>(lengths(batch));
    for (std::int64_t t = 0; t <= query; ++t) tokens += is_real(mask, batch * seq + t) ? 1 : 0;
    const CachedKeys seen = cached_keys(a, tokens);
    const auto slot = [&](std::int64_t key) { return batch * slots + (seen.begin + key) % slots; };
    const std::int64_t count = seen.end - seen.begin;
    for (std::int64_t key = 0; key < count; ++key) {
      double sum = 0;
      for (std::int64_t i = 0; i < a.head_dim; ++i)
        sum += q(batch * seq + query, at.query + i) * k(slot(key), kv_head, a.head_dim, i);
      scores[key] = soft_capped(a.scale * sum, a.cap);
    }
    softmax_row(
        math, count, [&](std::int64_t key) { return scores[key]; }, [](std::int64_t) { return true; },
        [&](std::int64_t key, double p) { scores[key] = p; }, sinks(head));
    for (std::int64_t i = 0; i < a.head_dim; ++i) {
      double sum = 0;
      for (std::int64_t key = 0; key < count; ++key) sum += scores[key] * v(slot(key), kv_head, a.head_dim, i);
      y.set(batch * seq + query, at.query + i, sum);
    }
  };
  for_each_query(call, call.in(0).shape[0], seq, one_query);
}

}  // namespace assay::reference
