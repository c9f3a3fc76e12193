#include "base/threads.h"
#include "kernels/reference/attention_rows.h"
#include "kernels/reference/loops.h"

namespace assay::reference {
namespace {

/// Doubles for each part: a row of probabilities and one of their gradients, and T x D sums for k and v.
std::int64_t doubles_a_part(const Call& call) {
  const std::int64_t seq = call.in(1).shape[1];
  return 2 * seq + 2 * seq * call.attributes.head_dim;
}

/// One head of keys and values with the queries that share it.
class KeyHead {
 public:
  KeyHead(const Call& call, const Memory& memory, double* scratch)
      : a_(call.attributes),
        seq_(call.in(1).shape[1]),
        dy_(reader(call, memory, 0)),
        q_(reader(call, memory, 1)),
        k_(reader(call, memory, 2)),
        v_(reader(call, memory, 3)),
        visible_{reader(call, memory, 4), seq_, a_},
        dq_(writer(call, memory, 0)),
        dk_(writer(call, memory, 1)),
        dv_(writer(call, memory, 2)),
        p_(scratch),
        ds_(scratch + seq_),
        k_sums_(scratch + 2 * seq_),
        v_sums_(k_sums_ + seq_ * a_.head_dim) {}

  void run(std::int64_t batch, std::int64_t key_head) {
    std::fill_n(k_sums_, 2 * seq_ * a_.head_dim, 0.0);
    const std::int64_t group = a_.heads / a_.kv_heads;
    for (std::int64_t head = key_head * group; head < (key_head + 1) * group; ++head) {
      for (std::int64_t query = 0; query < seq_; ++query) one_query(batch, query, columns(a_, head));
    }
    for (std::int64_t key = 0; key < seq_; ++key) {
      for (std::int64_t i = 0; i < a_.head_dim; ++i) {
        dk_.set(batch * seq_ + key, key_head * a_.head_dim + i, a_.scale * k_sums_[key * a_.head_dim + i]);
        dv_.set(batch * seq_ + key, key_head * a_.head_dim + i, v_sums_[key * a_.head_dim + i]);
      }
    }
  }

 private:
  void one_query(std::int64_t batch, std::int64_t query, const Columns& at) {
    const std::int64_t row = batch * seq_ + query;
    const Math math(a_.math);
    const auto score = [&](std::int64_t key) {
      return soft_capped(scaled_dot(a_, q_, k_, row, batch * seq_ + key, at), a_.cap);
    };
    softmax_row(
        math, seq_, score, [&](std::int64_t key) { return visible_(batch, query, key); },
        [&](std::int64_t key, double p) { p_[key] = p; });
    double mean = 0;
    for (std::int64_t key = 0; key < seq_; ++key) {
      ds_[key] = 0;
      for (std::int64_t i = 0; i < a_.head_dim; ++i)
        ds_[key] += dy_(row, at.query + i) * v_(batch * seq_ + key, at.key + i);
      mean += p_[key] * ds_[key];
    }
    for (std::int64_t key = 0; key < seq_; ++key)
      ds_[key] = p_[key] * (ds_[key] - mean) * (a_.cap == 0 ? 1 : soft_cap_slope(score(key), a_.cap));
    for (std::int64_t i = 0; i < a_.head_dim; ++i) {
      double sum = 0;
      for (std::int64_t key = 0; key < seq_; ++key) {
        sum += ds_[key] * k_(batch * seq_ + key, at.key + i);
        k_sums_[key * a_.head_dim + i] += ds_[key] * q_(row, at.query + i);
        v_sums_[key * a_.head_dim + i] += p_[key] * dy_(row, at.query + i);
      }
      dq_.set(row, at.query + i, a_.scale * sum);
    }
  }

  const Attributes& a_;
  std::int64_t seq_;
  Reader dy_, q_, k_, v_;
  Visible visible_;
  Writer dq_, dk_, dv_;
  double* p_;
  double* ds_;
  double* k_sums_;
  double* v_sums_;
};

}  // namespace

std::int64_t attention_gradient_doubles(const Call& call) {
  return std::max(call.threads, 1) * doubles_a_part(call);
}

void softmax_gradient(const Call& call, const Memory& memory) {
  const std::int64_t width = call.in(0).width();
  const Reader dp = reader(call, memory, 0);
  const Reader p = reader(call, memory, 1);
  const Writer ds = writer(call, memory, 0);
  parallel_for(call.in(0).rows(), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      double mean = 0;
      for (std::int64_t i = 0; i < width; ++i) mean += p(row, i) == 0 ? 0 : p(row, i) * dp(row, i);
      for (std::int64_t i = 0; i < width; ++i) ds.set(row, i, p(row, i) == 0 ? 0 : p(row, i) * (dp(row, i) - mean));
    }
  });
}

void attention_context_transposed(const Call& call, const Memory& memory) {
  const Attributes& a = call.attributes;
  const std::int64_t seq = call.in(0).shape[3];
  const std::int64_t group = a.heads / a.kv_heads;
  const Reader p = reader(call, memory, 0);
  const Reader y = reader(call, memory, 1);
  const Writer z = writer(call, memory, 0);
  parallel_for(call.in(0).shape[0] * seq, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t batch = row / seq;
      const std::int64_t key = row % seq;
      for (std::int64_t column = 0; column < a.kv_heads * a.head_dim; ++column) {
        double sum = 0;
        const std::int64_t first = column / a.head_dim * group;
        for (std::int64_t head = first; head < first + group; ++head) {
          for (std::int64_t query = 0; query < seq; ++query)
            sum += p((batch * a.heads + head) * seq + query, key) *
                   y(batch * seq + query, head * a.head_dim + column % a.head_dim);
        }
        z.set(row, column, a.scale * sum);
      }
    }
  });
}

void attention_gradient(const Call& call, const Memory& memory) {
  const std::int64_t count = call.in(1).shape[0] * call.attributes.kv_heads;
  const std::int64_t parts = std::max(call.threads, 1);
  parallel_for(parts, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t part = begin; part < end; ++part) {
      KeyHead head(call, memory, reinterpret_cast<double*>(memory.workspace) + part * doubles_a_part(call));
      for (std::int64_t i = count * part / parts; i < count * (part + 1) / parts; ++i)
        head.run(i / call.attributes.kv_heads, i % call.attributes.kv_heads);
    }
  });
}

}  // namespace assay::reference
