#include "base/threads.h"
#include "kernels/reference/access.h"
#include "kernels/reference/loops.h"

namespace assay::reference {
namespace {

/// n = (x - centre) / deviation of one row.
struct RowStatistics {
  double centre = 0;
  double deviation = 1;
};

RowStatistics statistics(const Call& call, const Reader& x, std::int64_t row) {
  const std::int64_t width = call.in(2).width();
  const auto count = static_cast<double>(width);
  RowStatistics found;
  if (call.operation == &op::layer_norm_gradient) {
    for (std::int64_t i = 0; i < width; ++i) found.centre += x(row, i) / count;
  }
  double squares = 0;
  for (std::int64_t i = 0; i < width; ++i) squares += (x(row, i) - found.centre) * (x(row, i) - found.centre);
  found.deviation = std::sqrt(squares / count + call.attributes.epsilon);
  return found;
}

struct Inputs {
  Reader dy;
  Reader x;
  Reader gain;
  Reader onto;
};

void input_gradient(const Call& call, const Inputs& in, const Writer& dx, std::int64_t row) {
  const std::int64_t width = call.in(2).width();
  const auto count = static_cast<double>(width);
  const RowStatistics s = statistics(call, in.x, row);
  const auto normal = [&](std::int64_t i) { return (in.x(row, i) - s.centre) / s.deviation; };
  const auto h = [&](std::int64_t i) { return in.dy(row, i) * in.gain(i); };
  double mean_h = 0;
  double mean_hn = 0;
  for (std::int64_t i = 0; i < width; ++i) {
    mean_h += h(i) / count;
    mean_hn += h(i) * normal(i) / count;
  }
  if (call.operation == &op::rms_norm_gradient) mean_h = 0;
  for (std::int64_t i = 0; i < width; ++i) {
    const double onto = in.onto.present() ? in.onto(row, i) : 0;
    dx.set(row, i, (h(i) - mean_h - normal(i) * mean_hn) / s.deviation + onto);
  }
}

void parameter_gradients(const Call& call, const Inputs& in, const Writer& dgain, const Writer& dbias) {
  const std::int64_t rows = norm_rows(call.in(1), call.in(2)).rows;
  std::vector<RowStatistics> all;
  for (std::int64_t row = 0; row < rows; ++row) all.push_back(statistics(call, in.x, row));
  for (std::int64_t i = 0; i < call.in(2).width(); ++i) {
    double gain = 0;
    double bias = 0;
    for (std::int64_t row = 0; row < rows; ++row) {
      const RowStatistics& s = all[static_cast<std::size_t>(row)];
      gain += in.dy(row, i) * (in.x(row, i) - s.centre) / s.deviation;
      bias += in.dy(row, i);
    }
    dgain.set(0, i, gain);
    dbias.set(0, i, bias);
  }
}

/// Parameters first: dx may stand where `onto` stood, and nothing else is overwritten.
void norm_gradient(const Call& call, const Memory& memory) {
  const NormRows rows = norm_rows(call.in(1), call.in(2));
  const Inputs in = {reader(call, memory, 0).by_group(rows), reader(call, memory, 1).by_group(rows),
                     reader(call, memory, 2), reader(call, memory, 3).by_group(rows)};
  parameter_gradients(call, in, writer(call, memory, 1), writer(call, memory, 2));
  const Writer dx = writer(call, memory, 0).by_group(rows);
  parallel_for(rows.rows, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) input_gradient(call, in, dx, row);
  });
}

}  // namespace

void layer_norm_gradient(const Call& call, const Memory& memory) {
  norm_gradient(call, memory);
}

void rms_norm_gradient(const Call& call, const Memory& memory) {
  norm_gradient(call, memory);
}

}  // namespace assay::reference
