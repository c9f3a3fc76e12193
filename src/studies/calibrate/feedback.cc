#include "studies/calibrate/feedback.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>

#include "base/error.h"

namespace assay {
namespace {

constexpr double damping = 0.01;
constexpr float last_code = 127;

/// A square of f64 whose lower triangle becomes its Cholesky factor.
class LowerTriangle {
 public:
  explicit LowerTriangle(std::int64_t size) : size_(size), values_(static_cast<std::size_t>(size * size)) {}

  double* row(std::int64_t i) { return values_.data() + i * size_; }

  /// By blocks of columns: what the blocks before take off, then the block's own square, then what is below it.
  void factorize() {
    for (std::int64_t begin = 0; begin < size_; begin += block) {
      const std::int64_t end = std::min(size_, begin + block);
#pragma omp parallel for schedule(dynamic, 8)
      for (std::int64_t i = begin; i < size_; ++i) {
        for (std::int64_t j = begin; j < std::min(end, i + 1); ++j) row(i)[j] -= dot(row(i), row(j), begin);
      }
      for (std::int64_t i = begin; i < end; ++i) solve_row(i, begin, end);
#pragma omp parallel for schedule(dynamic, 8)
      for (std::int64_t i = end; i < size_; ++i) solve_row(i, begin, end);
    }
  }

 private:
  static constexpr std::int64_t block = 64;

  static double dot(const double* a, const double* b, std::int64_t count) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t k = 0; k < count; ++k) sum += a[k] * b[k];
    return sum;
  }

  /// Entries [begin, end) of row i, up to its diagonal, by rows that are solved.
  void solve_row(std::int64_t i, std::int64_t begin, std::int64_t end) {
    for (std::int64_t j = begin; j < std::min(end, i + 1); ++j) {
      const double left = row(i)[j] - dot(row(i) + begin, row(j) + begin, j - begin);
      row(i)[j] = i == j ? std::sqrt(left) : left / row(j)[j];
    }
  }

  std::int64_t size_;
  std::vector<double> values_;
};

std::vector<std::int32_t> columns_by_power(const Tensor& moments) {
  const std::int64_t width = moments.shape()[0];
  std::vector<std::int32_t> order(static_cast<std::size_t>(width));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return moments.as<float>()[a * width + a] < moments.as<float>()[b * width + b];
  });
  return order;
}

struct RowScale {
  float scale = 1;
  std::int64_t largest = -1;  ///< Column of the largest magnitude; -1: the row is nothing.
};

RowScale scale_of(std::span<const float> row) {
  const auto most =
      std::max_element(row.begin(), row.end(), [](float a, float b) { return std::abs(a) < std::abs(b); });
  if (std::abs(*most) < 0x1p-100F) return {};
  return {std::abs(*most) / last_code, most - row.begin()};
}

}  // namespace

// With H = L L^T, a row's error e costs e H e^T = |e L|^2. Column k of e L is L_kk (e_k + sum of e_j L_jk / L_kk over
// j > k), so that taken from the last to the first, each column's rounding can make up for the errors behind it.
ErrorFeedback::ErrorFeedback(const Tensor& moments)
    : width_(moments.shape()[0]),
      order_(columns_by_power(moments)),
      feedback_(static_cast<std::size_t>(width_ * width_)) {
  double trace = 0;
  for (std::int64_t k = 0; k < width_; ++k) trace += static_cast<double>(moments.as<float>()[k * width_ + k]);
  const double damp = std::max(damping * trace / static_cast<double>(width_), 1e-30);
  LowerTriangle lower(width_);
  for (std::int64_t i = 0; i < width_; ++i) {
    const float* const from = moments.as<float>() + order_[static_cast<std::size_t>(i)] * width_;
    for (std::int64_t j = 0; j <= i; ++j)
      lower.row(i)[j] = static_cast<double>(from[order_[static_cast<std::size_t>(j)]]) + (i == j ? damp : 0);
  }
  lower.factorize();
  for (std::int64_t j = 0; j < width_; ++j) {
    for (std::int64_t k = 0; k < j; ++k)
      feedback_[static_cast<std::size_t>(k * width_ + j)] = static_cast<float>(lower.row(j)[k] / lower.row(k)[k]);
  }
}

RowCodes ErrorFeedback::rounded(const Tensor& matrix) const {
  const std::int64_t rows = matrix.shape()[0];
  ASSAY_ASSERT(matrix.shape()[1] == width_);
  RowCodes result{std::vector<std::int8_t>(static_cast<std::size_t>(rows * width_)),
                  std::vector<float>(static_cast<std::size_t>(rows))};
#pragma omp parallel for schedule(dynamic)
  for (std::int64_t first = 0; first < rows; first += abreast)
    round_rows(matrix, first, std::min(abreast, rows - first), result);
  return result;
}

void ErrorFeedback::round_rows(const Tensor& matrix, std::int64_t first, std::int64_t count, RowCodes& result) const {
  std::array<RowScale, abreast> scales;
  for (std::int64_t r = 0; r < count; ++r) {
    RowScale& scale = scales[static_cast<std::size_t>(r)];
    scale = scale_of({matrix.as<float>() + (first + r) * width_, static_cast<std::size_t>(width_)});
    result.scales[static_cast<std::size_t>(first + r)] = scale.scale;
  }
  std::vector<float> errors(static_cast<std::size_t>(width_ * abreast));  // (width, abreast), by order
  for (std::int64_t k = width_ - 1; k >= 0; --k) {
    const std::array<float, abreast> owed = owed_to(k, errors);
    const std::int64_t column = order_[static_cast<std::size_t>(k)];
    for (std::int64_t r = 0; r < count; ++r) {
      const RowScale& scale = scales[static_cast<std::size_t>(r)];
      const std::int64_t at = (first + r) * width_ + column;
      const float weight = matrix.as<float>()[at];
      const float wanted = std::nearbyint((weight + owed[static_cast<std::size_t>(r)]) / scale.scale);
      const float code =
          column == scale.largest ? std::copysign(last_code, weight) : std::clamp(wanted, -last_code, last_code);
      result.codes[static_cast<std::size_t>(at)] = static_cast<std::int8_t>(code);
      errors[static_cast<std::size_t>(k * abreast + r)] = weight - code * scale.scale;
    }
  }
}

/// What the errors of the columns behind k add to column k, of each row.
std::array<float, ErrorFeedback::abreast> ErrorFeedback::owed_to(std::int64_t k,
                                                                 const std::vector<float>& errors) const {
  std::array<float, abreast> owed = {};
  const float* const feedback = feedback_.data() + k * width_;
  for (std::int64_t j = k + 1; j < width_; ++j) {
    const float* const error = errors.data() + j * abreast;
#pragma omp simd
    for (std::size_t r = 0; r < static_cast<std::size_t>(abreast); ++r) owed[r] += feedback[j] * error[r];
  }
  return owed;
}

}  // namespace assay
