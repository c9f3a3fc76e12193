#include "base/threads.h"
#include "kernels/reference/access.h"
#include "kernels/reference/loops.h"

namespace assay::reference {
namespace {

/// Statistics over `width` values value(0), value(1), ..., then each result to out(i, result).
template <typename Value, typename Out>
void standardise(const Call& call, const Memory& memory, std::size_t first_parameter, Value value, Out out) {
  const Reader gain = reader(call, memory, first_parameter);
  const Reader bias = reader(call, memory, first_parameter + 1);
  const Math math(call.attributes.math);
  const std::int64_t width = call.in(0).width();
  const auto count = static_cast<double>(width);
  double sum = 0;
  for (std::int64_t i = 0; i < width; ++i) sum = math(sum + value(i));
  const double mean = math(sum / count);
  double squares = 0;
  for (std::int64_t i = 0; i < width; ++i) {
    const double distance = math(value(i) - mean);
    squares = math(squares + math(distance * distance));
  }
  const double deviation = math(std::sqrt(math(math(squares / count) + call.attributes.epsilon)));
  for (std::int64_t i = 0; i < width; ++i) {
    const double normal = math(math(value(i) - mean) / deviation);
    const double scaled = gain.present() ? math(normal * gain(i)) : normal;
    out(i, bias.present() ? math(scaled + bias(i)) : scaled);
  }
}

}  // namespace

void layer_norm(const Call& call, const Memory& memory) {
  const Reader x = reader(call, memory, 0);
  const Writer y = writer(call, memory, 0);
  parallel_for(call.in(0).rows(), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      standardise(
          call, memory, 1, [&](std::int64_t i) { return x(row, i); },
          [&](std::int64_t i, double result) { y.set(row, i, result); });
    }
  });
}

// The statistics are those of the sum before it is rounded to its stored dtype.
void add_layer_norm(const Call& call, const Memory& memory) {
  const Reader x = reader(call, memory, 0);
  const Reader y = reader(call, memory, 1);
  const Writer sum = writer(call, memory, 0);
  const Writer normal = writer(call, memory, 1);
  const Math math(call.attributes.math);
  parallel_for(call.in(0).rows(), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const auto value = [&](std::int64_t i) { return math(x(row, i) + y(row, i)); };
      standardise(call, memory, 2, value, [&](std::int64_t i, double result) { normal.set(row, i, result); });
      for (std::int64_t i = 0; i < call.in(0).width(); ++i) sum.set(row, i, value(i));
    }
  });
}

}  // namespace assay::reference
