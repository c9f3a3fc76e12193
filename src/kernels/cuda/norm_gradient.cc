#include "kernels/cuda/cuda.h"
#include "kernels/cuda/formulas.h"

// With n = (x - mean) / deviation and h = dy * gain:
//   dx = (h - mean(h) - n mean(h n)) / deviation [+ onto]    dgain = sum over rows of dy n    dbias = sum of dy
// rms norm: without the means of x and h. Parameters first: dx may stand where `onto` stood.
namespace assay::ASSAY_CUDA_NAMESPACE {
namespace {

struct Statistics {
  float mean;
  float deviation;
};

struct RowStatistics {
  Grouped<In> x;
  Statistics* of_row;
  std::int64_t width;
  float epsilon;
  bool centred;

  ON_DEVICE void operator()(std::int64_t row, const Team& team) const {
    const auto count = static_cast<float>(width);
    float mean = 0;
    if (centred) {
      float mine = 0;
      for (std::int64_t i = team.rank; i < width; i += team.size) mine += x(row, i);
      mean = team.sum(mine) / count;
    }
    float squares = 0;
    for (std::int64_t i = team.rank; i < width; i += team.size) squares += (x(row, i) - mean) * (x(row, i) - mean);
    squares = team.sum(squares);
    if (team.rank == 0) of_row[row] = {mean, sqrtf(squares / count + epsilon)};
  }
};

struct NormInputGradient {
  Grouped<In> dy, x, onto;
  In gain;
  Grouped<Out> dx;
  const Statistics* of_row;
  std::int64_t width;
  bool centred;

  ON_DEVICE void operator()(std::int64_t row, const Team& team) const {
    const Statistics s = of_row[row];
    const auto count = static_cast<float>(width);
    float h_sum = 0;
    float hn_sum = 0;
    for (std::int64_t i = team.rank; i < width; i += team.size) {
      const float h = dy(row, i) * gain(i);
      h_sum += h;
      hn_sum += h * ((x(row, i) - s.mean) / s.deviation);
    }
    const float mean_h = centred ? team.sum(h_sum) / count : 0;
    const float mean_hn = team.sum(hn_sum) / count;
    for (std::int64_t i = team.rank; i < width; i += team.size) {
      const float normal = (x(row, i) - s.mean) / s.deviation;
      const float result = (dy(row, i) * gain(i) - mean_h - normal * mean_hn) / s.deviation;
      dx.set(row, i, onto.present() ? result + onto(row, i) : result);
    }
  }
};

/// Sums over a part of the rows; a second pass adds the parts up, always in the same order.
struct NormPartialSums {
  Grouped<In> dy, x;
  const Statistics* of_row;
  float* partial;  ///< (parts, 2, width)
  std::int64_t rows, width, parts;

  ON_DEVICE void operator()(std::int64_t part, std::int64_t column) const {
    float gain = 0;
    float bias = 0;
    for (std::int64_t row = rows * part / parts; row < rows * (part + 1) / parts; ++row) {
      const float given = dy(row, column);
      gain += given * ((x(row, column) - of_row[row].mean) / of_row[row].deviation);
      bias += given;
    }
    partial[(2 * part) * width + column] = gain;
    partial[(2 * part + 1) * width + column] = bias;
  }
};

struct NormTotalSums {
  const float* partial;
  Out dgain, dbias;
  std::int64_t width, parts;

  ON_DEVICE void operator()(std::int64_t column) const {
    float gain = 0;
    float bias = 0;
    for (std::int64_t part = 0; part < parts; ++part) {
      gain += partial[(2 * part) * width + column];
      bias += partial[(2 * part + 1) * width + column];
    }
    dgain.set(0, column, gain);
    dbias.set(0, column, bias);
  }
};

void run_norm_gradient(const Call& call, const Memory& memory) {
  const NormRows norm = norm_rows(call.in(1), call.in(2));
  const std::int64_t rows = norm.rows;
  const std::int64_t width = norm.width;
  const std::int64_t parts = rows < most_parts ? rows : most_parts;
  const bool centred = call.operation == &op::layer_norm_gradient;
  const Grouped<In> dy{input(call, memory, 0), norm};
  const Grouped<In> x{input(call, memory, 1), norm};
  const Grouped<In> onto{input(call, memory, 3), norm};
  auto* partial = reinterpret_cast<float*>(memory.workspace);
  auto* of_row = reinterpret_cast<Statistics*>(partial + 2 * most_parts * width);
  for_rows(rows, width, RowStatistics{x, of_row, width, static_cast<float>(call.attributes.epsilon), centred});
  for_matrix(parts, width, NormPartialSums{dy, x, of_row, partial, rows, width, parts});
  for_elements(width, NormTotalSums{partial, output(call, memory, 1), output(call, memory, 2), width, parts});
  for_rows(
      rows, width,
      NormInputGradient{dy, x, onto, input(call, memory, 2), {output(call, memory, 0), norm}, of_row, width, centred});
}

}  // namespace

Offer prepare_norm_gradient(const Call& call, const MachineFacts&) {
  const NormRows norm = norm_rows(call.in(1), call.in(2));
  const auto rows = static_cast<std::size_t>(norm.rows);
  const auto width = static_cast<std::size_t>(norm.width);
  return offer(
      "a team of threads a row; parameters in two passes",
      [call](const Memory& memory) { run_norm_gradient(call, memory); },
      2 * most_parts * width * sizeof(float) + rows * sizeof(Statistics));
}

}  // namespace assay::ASSAY_CUDA_NAMESPACE
