#include "base/threads.h"
#include "kernels/reference/access.h"
#include "kernels/reference/loops.h"

namespace assay::reference {

// Positions count from column 0, padding included, where none are given.
void rope(const Call& call, const Memory& memory) {
  const Attributes& a = call.attributes;
  const std::int64_t seq = call.in(0).shape[1];
  const std::int64_t turned = rotary_columns(a);
  const std::int64_t half = turned / 2;
  const Reader positions = reader(call, memory, 1);
  const std::vector<float> frequencies = rotary_frequencies(a, positions.present() ? a.positions : seq);
  const double magnitude = a.rope_scaling.magnitude;
  const bool halves = a.pairs == RotaryPairs::halves;
  const Reader x = reader(call, memory, 0);
  const Writer y = writer(call, memory, 0);
  parallel_for(call.in(0).rows(), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t token = begin; token < end; ++token) {
      const auto position =
          static_cast<float>(positions.present() ? positions(token) : static_cast<double>(token % seq));
      for (std::int64_t pair = 0; pair < a.heads * half; ++pair) {
        const std::int64_t i = pair % half;
        const std::int64_t head = pair / half * a.head_dim;
        const std::int64_t first = head + (halves ? i : 2 * i);
        const std::int64_t second = head + (halves ? i + half : 2 * i + 1);
        const double angle = position * frequencies[static_cast<std::size_t>(i)] * (a.inverse ? -1 : 1);
        const double cosine = magnitude * std::cos(angle);
        const double sine = magnitude * std::sin(angle);
        y.set(token, first, x(token, first) * cosine - x(token, second) * sine);
        y.set(token, second, x(token, second) * cosine + x(token, first) * sine);
      }
      for (std::int64_t head = 0; head < a.heads; ++head) {
        for (std::int64_t i = turned; i < a.head_dim; ++i)
          y.set(token, head * a.head_dim + i, x(token, head * a.head_dim + i));
      }
    }
  });
}

}  // namespace assay::reference
