#include "base/threads.h"
#include "kernels/reference/access.h"
#include "kernels/reference/loops.h"

namespace assay::reference {
namespace {

template <typename Value, typename Out>
void normalize(const Call& call, std::int64_t width, const Reader& gain, Value value, Out out) {
  const Math math(call.attributes.math);
  double squares = 0;
  for (std::int64_t i = 0; i < width; ++i) squares = math(squares + math(value(i) * value(i)));
  const double mean = math(squares / static_cast<double>(width));
  const double root = math(std::sqrt(math(mean + call.attributes.epsilon)));
  for (std::int64_t i = 0; i < width; ++i) {
    const double normal = math(value(i) / root);
    out(i, gain.present() ? math(normal * gain(i)) : normal);
  }
}

}  // namespace

void rms_norm(const Call& call, const Memory& memory) {
  const NormRows rows = norm_rows(call.in(0), call.in(1));
  const Reader x = reader(call, memory, 0).by_group(rows);
  const Reader gain = reader(call, memory, 1);
  const Writer y = writer(call, memory, 0).by_group(rows);
  parallel_for(rows.rows, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      normalize(
          call, rows.width, gain, [&](std::int64_t i) { return x(row, i); },
          [&](std::int64_t i, double result) { y.set(row, i, result); });
    }
  });
}

// The mean square is that of the sum before it is rounded to its stored dtype.
void add_rms_norm(const Call& call, const Memory& memory) {
  const Reader x = reader(call, memory, 0);
  const Reader y = reader(call, memory, 1);
  const Reader gain = reader(call, memory, 2);
  const Writer sum = writer(call, memory, 0);
  const Writer normal = writer(call, memory, 1);
  const Math math(call.attributes.math);
  parallel_for(call.in(0).rows(), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const auto value = [&](std::int64_t i) { return math(x(row, i) + y(row, i)); };
      normalize(call, call.in(0).width(), gain, value,
                [&](std::int64_t i, double result) { normal.set(row, i, result); });
      for (std::int64_t i = 0; i < call.in(0).width(); ++i) sum.set(row, i, value(i));
    }
  });
}

}  // namespace assay::reference
