#include "base/threads.h"
#include "kernels/reference/access.h"
#include "kernels/reference/loops.h"

namespace assay::reference {

// Positions count from column 0, padding included.
void rope(const Call& call, const Memory& memory) {
  const Attributes& a = call.attributes;
  const std::int64_t seq = call.in(0).shape[1];
  const std::int64_t half = a.head_dim / 2;
  const bool halves = a.pairs == RotaryPairs::halves;
  const Reader x = reader(call, memory, 0);
  const Writer y = writer(call, memory, 0);
  parallel_for(call.in(0).rows(), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t token = begin; token < end; ++token) {
      for (std::int64_t pair = 0; pair < a.heads * half; ++pair) {
        const std::int64_t i = pair % half;
        const std::int64_t head = pair / half * a.head_dim;
        const std::int64_t first = head + (halves ? i : 2 * i);
        const std::int64_t second = head + (halves ? i + half : 2 * i + 1);
        const double angle = static_cast<float>(token % seq) * rotary_frequency(a, i) * (a.inverse ? -1 : 1);
        y.set(token, first, x(token, first) * std::cos(angle) - x(token, second) * std::sin(angle));
        y.set(token, second, x(token, second) * std::cos(angle) + x(token, first) * std::sin(angle));
      }
    }
  });
}

}  // namespace assay::reference
