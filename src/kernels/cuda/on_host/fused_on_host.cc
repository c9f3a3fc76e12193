#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/cuda/formulas.h"
#include "kernels/cuda/host/fused_attention.h"
#include "kernels/cuda/on_host/spoiled.h"
#include "tensor/dtype.h"

// Loops in cuDNN's place, for tests on the host: they round where FlashAttention-2 rounds, read and write by the
// shape's strides alone, and spoil the workspace that they asked for.
namespace assay::ASSAY_CUDA_NAMESPACE {
namespace {

struct FusedTensors {
  const FusedShape& shape;
  const FusedMemory& memory;

  const FusedTensor& of(FusedRole role) const { return *shape.tensors[place(role)]; }
  std::int64_t index(FusedRole role, std::int64_t batch, std::int64_t head, std::int64_t token,
                     std::int64_t column) const {
    const FusedTensor& t = of(role);
    return batch * t.strides[0] + head * t.strides[1] + token * t.strides[2] + column * t.strides[3];
  }
  float get(FusedRole role, std::int64_t batch, std::int64_t head, std::int64_t token, std::int64_t column) const {
    return load(of(role).dtype, memory.at[place(role)], index(role, batch, head, token, column));
  }
  void set(FusedRole role, std::int64_t batch, std::int64_t head, std::int64_t token, std::int64_t column,
           float value) const {
    store(of(role).dtype, memory.at[place(role)], index(role, batch, head, token, column), value);
  }
  float rounded(float value) const { return round_to(of(FusedRole::q).dtype, value); }
};

/// One query head of one row of the batch, and the key head that it reads.
struct Head {
  const FusedTensors& t;
  std::int64_t batch, head, key_head, seq, width;

  /// Key heads have fewer heads than queries.
  float dot(FusedRole a, std::int64_t query, FusedRole b, std::int64_t token) const {
    const std::int64_t other = b == FusedRole::y ? head : key_head;
    float sum = 0;
    for (std::int64_t c = 0; c < width; ++c) sum += t.get(a, batch, head, query, c) * t.get(b, batch, other, token, c);
    return sum;
  }
  float score(std::int64_t query, std::int64_t key) const {
    return static_cast<float>(t.shape.scale) * dot(FusedRole::q, query, FusedRole::k, key);
  }
  std::int64_t seen(std::int64_t query) const { return t.shape.causal ? query + 1 : seq; }
};

void forward(const Head& h, std::int64_t query) {
  const std::int64_t seen = h.seen(query);
  std::vector<float> p(static_cast<std::size_t>(seen));
  for (std::int64_t key = 0; key < seen; ++key) p[static_cast<std::size_t>(key)] = h.score(query, key);
  const float most = *std::max_element(p.begin(), p.end());
  float sum = 0;
  for (float& one : p) sum += one = std::exp(one - most);
  for (std::int64_t c = 0; c < h.width; ++c) {
    float y = 0;
    for (std::int64_t key = 0; key < seen; ++key)
      y += h.t.rounded(p[static_cast<std::size_t>(key)]) * h.t.get(FusedRole::v, h.batch, h.key_head, key, c);
    h.t.set(FusedRole::y, h.batch, h.head, query, c, y / sum);
  }
  if (h.t.shape.tensors[place(FusedRole::statistics)])
    h.t.set(FusedRole::statistics, h.batch, h.head, query, 0, most + std::log(sum));
}

/// A head's gradients in f32, (seq, width) each.
struct Gradients {
  std::vector<float> dq, dk, dv;

  explicit Gradients(const Head& h) : dq(static_cast<std::size_t>(h.seq * h.width)), dk(dq.size()), dv(dq.size()) {}
};

void add_query(const Head& h, std::int64_t query, Gradients& g) {
  const float statistics = h.t.get(FusedRole::statistics, h.batch, h.head, query, 0);
  const float mean = h.dot(FusedRole::dy, query, FusedRole::y, query);
  for (std::int64_t key = 0; key < h.seen(query); ++key) {
    const float p = std::exp(h.score(query, key) - statistics);
    const float dp = h.dot(FusedRole::dy, query, FusedRole::v, key);
    const float ds = h.t.rounded(p * (dp - mean) * static_cast<float>(h.t.shape.scale));
    for (std::int64_t c = 0; c < h.width; ++c) {
      const auto at_query = static_cast<std::size_t>(query * h.width + c);
      const auto at_key = static_cast<std::size_t>(key * h.width + c);
      g.dq[at_query] += ds * h.t.get(FusedRole::k, h.batch, h.key_head, key, c);
      g.dk[at_key] += ds * h.t.get(FusedRole::q, h.batch, h.head, query, c);
      g.dv[at_key] += h.t.rounded(p) * h.t.get(FusedRole::dy, h.batch, h.head, query, c);
    }
  }
}

/// Parts of a key head's gradients are rounded before they are added.
void backward_of_key_head(const FusedTensors& t, Head h, std::int64_t group) {
  Gradients sums(h);
  for (std::int64_t i = 0; i < group; ++i) {
    h.head = h.key_head * group + i;
    Gradients own(h);
    for (std::int64_t query = 0; query < h.seq; ++query) add_query(h, query, own);
    for (std::size_t at = 0; at < own.dq.size(); ++at) {
      const auto token = static_cast<std::int64_t>(at) / h.width;
      const auto column = static_cast<std::int64_t>(at) % h.width;
      t.set(FusedRole::dq, h.batch, h.head, token, column, own.dq[at]);
      sums.dk[at] += t.rounded(own.dk[at]);
      sums.dv[at] += t.rounded(own.dv[at]);
      t.set(FusedRole::dk, h.batch, h.key_head, token, column, sums.dk[at]);
      t.set(FusedRole::dv, h.batch, h.key_head, token, column, sums.dv[at]);
    }
  }
}

void run(const FusedShape& shape, const FusedMemory& memory) {
  std::fill_n(memory.workspace, spoiled_bytes, std::byte{0xFF});
  const FusedTensors t{shape, memory};
  const FusedTensor& q = t.of(FusedRole::q);
  const std::int64_t key_heads = t.of(FusedRole::k).sizes[1];
  const std::int64_t group = q.sizes[1] / key_heads;
  for (std::int64_t batch = 0; batch < q.sizes[0]; ++batch) {
    for (std::int64_t key_head = 0; key_head < key_heads; ++key_head) {
      Head h{t, batch, 0, key_head, q.sizes[2], q.sizes[3]};
      if (shape.is_backward()) {
        backward_of_key_head(t, h, group);
        continue;
      }
      for (h.head = key_head * group; h.head < (key_head + 1) * group; ++h.head) {
        for (std::int64_t query = 0; query < h.seq; ++query) forward(h, query);
      }
    }
  }
}

}  // namespace

std::variant<FusedAttention, Declined> make_fused_attention(const FusedShape& shape) {
  return FusedAttention{[shape](const FusedMemory& memory) { run(shape, memory); }, spoiled_bytes,
                        "loops in cuDNN's place"};
}

}  // namespace assay::ASSAY_CUDA_NAMESPACE
