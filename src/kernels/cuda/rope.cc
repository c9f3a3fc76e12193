#include <algorithm>
#include <vector>

#include "kernels/cuda/cuda.h"
#include "kernels/cuda/formulas.h"

// Rotary position embedding: pairs of columns of each head turn by position * frequency. x, y: (B, T, heads * head_dim)
namespace assay::ASSAY_CUDA_NAMESPACE {
namespace {

/// Of a head of 512 columns.
constexpr std::int64_t most_pairs = 256;

/// By value among a kernel's parameters: 1 KiB of the 4 that there are.
struct Frequencies {
  float of_pair[most_pairs];
};

struct Rotate {
  In x, positions;
  Out y;
  std::int64_t seq, heads, head_dim, turned;
  float magnitude;
  bool halves;
  bool inverse;
  Frequencies frequencies;

  /// One pair of every head of a token, or two columns that stay. Sine and cosine in f64, since their arguments reach
  /// thousands.
  ON_DEVICE void operator()(std::int64_t token, std::int64_t pair) const {
    if (2 * pair >= turned) return copy(token, 2 * pair);
    const std::int64_t half = turned / 2;
    const float position = positions.present() ? positions(token) : static_cast<float>(token % seq);
    const double angle = static_cast<double>(position * frequencies.of_pair[pair]) * (inverse ? -1 : 1);
    const auto cosine = magnitude * static_cast<float>(cos(angle));
    const auto sine = magnitude * static_cast<float>(sin(angle));
    for (std::int64_t head = 0; head < heads; ++head) {
      const std::int64_t first = head * head_dim + (halves ? pair : 2 * pair);
      const std::int64_t second = halves ? first + half : first + 1;
      const float a = x(token, first);
      const float b = x(token, second);
      y.set(token, first, a * cosine - b * sine);
      y.set(token, second, b * cosine + a * sine);
    }
  }

  ON_DEVICE void copy(std::int64_t token, std::int64_t column) const {
    for (std::int64_t head = 0; head < heads; ++head) {
      for (std::int64_t i = head * head_dim + column; i < head * head_dim + column + 2; ++i)
        y.set(token, i, x(token, i));
    }
  }
};

Frequencies frequencies_of(const Call& call) {
  Frequencies frequencies{};
  const std::int64_t positions = call.in(1).present ? call.attributes.positions : call.in(0).shape[1];
  const std::vector<float> all = rotary_frequencies(call.attributes, positions);
  std::copy(all.begin(), all.end(), frequencies.of_pair);
  return frequencies;
}

}  // namespace

Offer prepare_rope(const Call& call, const MachineFacts&) {
  if (rotary_columns(call.attributes) > 2 * most_pairs) return Declined{"more than 256 pairs a head turn"};
  return offer("angles computed once for all heads", [call, frequencies = frequencies_of(call)](const Memory& memory) {
    const Attributes& a = call.attributes;
    for_matrix(call.in(0).rows(), a.head_dim / 2,
               Rotate{input(call, memory, 0), input(call, memory, 1), output(call, memory, 0), call.in(0).shape[1],
                      a.heads, a.head_dim, rotary_columns(a), static_cast<float>(a.rope_scaling.magnitude),
                      a.pairs == RotaryPairs::halves, a.inverse, frequencies});
  });
}

}  // namespace assay::ASSAY_CUDA_NAMESPACE
