#include "kernels/cuda/cuda.h"
#include "kernels/cuda/formulas.h"

// Rotary position embedding: pairs of columns of each head turn by position * frequency. x, y: (B, T, heads * head_dim)
namespace assay::ASSAY_CUDA_NAMESPACE {
namespace {

struct Rotate {
  In x;
  Out y;
  std::int64_t seq, heads, head_dim;
  double theta;
  bool halves;
  bool inverse;

  /// One pair of every head of a token. The frequency is rounded to f32 as program/operation.h says; sine and cosine in
  /// f64, since their arguments reach thousands.
  ON_DEVICE void operator()(std::int64_t token, std::int64_t pair) const {
    const std::int64_t half = head_dim / 2;
    const float exponent = static_cast<float>(2 * pair) / static_cast<float>(head_dim);
    const float frequency = 1.0F / static_cast<float>(pow(theta, static_cast<double>(exponent)));
    const float position = static_cast<float>(token % seq);
    const double angle = static_cast<double>(position * frequency) * (inverse ? -1 : 1);
    const auto cosine = static_cast<float>(cos(angle));
    const auto sine = static_cast<float>(sin(angle));
    for (std::int64_t head = 0; head < heads; ++head) {
      const std::int64_t first = head * head_dim + (halves ? pair : 2 * pair);
      const std::int64_t second = halves ? first + half : first + 1;
      const float a = x(token, first);
      const float b = x(token, second);
      y.set(token, first, a * cosine - b * sine);
      y.set(token, second, b * cosine + a * sine);
    }
  }
};

}  // namespace

Offer prepare_rope(const Call& call, const MachineFacts&) {
  return offer("angles computed once for all heads", [call](const Memory& memory) {
    const Attributes& a = call.attributes;
    for_matrix(
        call.in(0).rows(), a.head_dim / 2,
        Rotate{input(call, memory, 0), output(call, memory, 0), call.in(0).shape[1], a.heads, a.head_dim,
               static_cast<double>(static_cast<float>(a.rope_theta)), a.pairs == RotaryPairs::halves, a.inverse});
  });
}

}  // namespace assay::ASSAY_CUDA_NAMESPACE
