#include "base/random.h"
#include "base/threads.h"
#include "kernels/reference/access.h"
#include "kernels/reference/loops.h"

namespace assay::reference {

void dropout(const Call& call, const Memory& memory) {
  const Reader x = reader(call, memory, 0);
  const auto* seed = memory.in<std::int32_t>(1);
  const Writer y = writer(call, memory, 0);
  const std::int64_t width = call.in(0).width();
  const std::int64_t before = *memory.in<std::int32_t>(2) * call.in(0).rows_each();
  const double rate = call.attributes.rate;
  parallel_for(call.in(0).rows(), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      for (std::int64_t i = 0; i < width; ++i) {
        const float drawn = uniform(random_bits(seed, call.attributes.stream, (before + row) * width + i));
        y.set(row, i, drawn >= static_cast<float>(rate) ? x(row, i) / (1 - rate) : 0);
      }
    }
  });
}

}  // namespace assay::reference
