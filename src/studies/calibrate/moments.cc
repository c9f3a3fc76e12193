#include "studies/calibrate/moments.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <memory>
#include <utility>

#include "program/builder.h"
#include "program/passes.h"
#include "runtime/instance.h"
#include "runtime/plan.h"
#include "studies/calibrate/activations.h"
#include "studies/calibrate/parameters.h"

namespace assay {
namespace {

/// Rows behind a place's moments: some more than wide matrices have columns; more cost time and change little.
constexpr std::size_t wanted_rows = 4096;
constexpr std::size_t most_bytes_at_once = std::size_t{1} << 29;
/// Of one product.
constexpr std::int64_t rows_of_product = 512;

std::size_t moment_bytes(const LinearPlace& place) {
  return static_cast<std::size_t>(place.width * place.width) * sizeof(float);
}

/// x^T x as the gradient of a linear layer's weights is computed: by the engine's own products.
class MomentProduct {
 public:
  MomentProduct(const StudiedModel& subject, std::int64_t width) : x_(DType::f32, {rows_of_product, width}) {
    Builder b;
    const ValueId x = b.input("x", DType::f32, {dim_batch, dim_seq, dim(width)});
    b.output("sum", b.add(op::linear_weight_gradient, {x, x}));
    instance_ = std::make_unique<Instance>(assign_dtypes(b.take(), subject.fp32), subject.fp32, subject.model.weights,
                                           find_backend(subject.request.engine.device), subject.facts);
    plan_ = std::make_unique<Plan>(*instance_, PlanOptions{.extent = {1, rows_of_product}, .outputs = {"sum"}});
  }

  Tensor& rows() { return x_; }

  void add_to(Tensor& sum) {
    plan_->set_input("x", {x_.data(), static_cast<std::size_t>(x_.bytes())});
    plan_->run();
    const Tensor product = plan_->output_f32("sum");
    for (std::int64_t i = 0; i < sum.count(); ++i) sum.as<float>()[i] += product.as<float>()[i];
  }

 private:
  Tensor x_;
  std::unique_ptr<Instance> instance_;
  std::unique_ptr<Plan> plan_;
};

/// Of its layers' matrices.
std::vector<double> power_by_column(const StudiedModel& subject, const LinearPlace& place) {
  std::vector<double> power(static_cast<std::size_t>(place.width));
  for (const Tensor& matrix : matrices_of(subject, place)) add_column_power(matrix, power);
  return power;
}

/// sum_c x_c^2 power_c
double output_power(const float* row, const std::vector<double>& column_power) {
  double sum = 0;
  for (std::size_t c = 0; c < column_power.size(); ++c) sum += static_cast<double>(row[c]) * row[c] * column_power[c];
  return sum;
}

/// Collects rows until there are enough for a product.
class MomentSum {
 public:
  MomentSum(MomentProduct& product, std::vector<double> column_power)
      : product_(product), rows_(static_cast<std::size_t>(rows_of_product) * column_power.size()) {
    const auto width = std::ssize(column_power);
    moments_ = {.sum = Tensor(DType::f32, {width, width}), .column_power = std::move(column_power)};
    std::fill_n(moments_.sum.as<float>(), moments_.sum.count(), 0.0F);
  }

  void add(const float* row) {
    const std::size_t width = moments_.column_power.size();
    const double power = output_power(row, moments_.column_power);
    if (power <= 0) return;
    const auto scale = static_cast<float>(1 / std::sqrt(power));
    float* const to = rows_.data() + filled_ * width;
    for (std::size_t c = 0; c < width; ++c) to[c] = row[c] * scale;
    moments_.rows += 1;
    if (++filled_ == static_cast<std::size_t>(rows_of_product)) multiply();
  }

  PlaceMoments take() {
    if (filled_ > 0) multiply();
    return std::move(moments_);
  }

 private:
  /// Rows that are missing are zeros, which add nothing.
  void multiply() {
    std::fill(rows_.begin() + static_cast<std::ptrdiff_t>(filled_ * moments_.column_power.size()), rows_.end(), 0.0F);
    std::copy(rows_.begin(), rows_.end(), product_.rows().as<float>());
    product_.add_to(moments_.sum);
    filled_ = 0;
  }

  MomentProduct& product_;
  std::vector<float> rows_;
  std::size_t filled_ = 0;
  PlaceMoments moments_;
};

/// Distance between batches that are looked at.
std::size_t batch_distance(const QualitySet& set) {
  std::size_t rows = 0;
  for (const QualityBatch& batch : set.batches) rows += static_cast<std::size_t>(batch.extent.batch * batch.extent.seq);
  return std::max<std::size_t>(1, rows / wanted_rows);
}

/// What rounding a row of x / s adds to each channel's square, over the power of what the layers make of it; a mean
/// over rows.
double rounding_noise(const Tensor& rows, const std::vector<double>& column_power, const std::vector<float>& factors) {
  const std::size_t width = column_power.size();
  const auto count = static_cast<std::size_t>(rows.shape()[0]);
  double sum = 0;
  for (std::size_t t = 0; t < count; ++t) {
    const float* const row = rows.as<float>() + t * width;
    double most = 0;
    for (std::size_t c = 0; c < width; ++c) most = std::max(most, static_cast<double>(std::abs(row[c] / factors[c])));
    const double power = output_power(row, column_power);
    const double step = most / 127;
    if (power > 0) sum += step * step / 12 / power;
  }
  return sum / static_cast<double>(std::max<std::size_t>(1, count));
}

}  // namespace

std::size_t places_at_once(std::span<const LinearPlace> places) {
  std::size_t bytes = 0;
  std::size_t count = 0;
  for (; count < places.size(); ++count) {
    bytes += moment_bytes(places[count]);
    if (bytes > most_bytes_at_once) break;
  }
  return std::max<std::size_t>(1, count);
}

std::vector<PlaceMoments> moments_at(const StudiedModel& subject, std::span<const LinearPlace> places) {
  std::map<std::int64_t, MomentProduct> products;
  std::vector<MomentSum> sums;
  sums.reserve(places.size());
  for (const LinearPlace& place : places) {
    MomentProduct& product = products.try_emplace(place.width, subject, place.width).first->second;
    sums.emplace_back(product, power_by_column(subject, place));
  }
  visit_places(subject, places, batch_distance(subject.set),
               [&](std::size_t place, const std::vector<const float*>& real) {
                 for (const float* const row : real) sums[place].add(row);
               });
  std::vector<PlaceMoments> moments;
  moments.reserve(sums.size());
  for (MomentSum& sum : sums) moments.push_back(sum.take());
  return moments;
}

Tensor moments_of_rounded(const PlaceMoments& moments, const Tensor& rows, const std::vector<float>& factors) {
  const double noise = rounding_noise(rows, moments.column_power, factors);
  const std::size_t width = factors.size();
  Tensor result(DType::f32, moments.sum.shape());
  for (std::size_t i = 0; i < width; ++i) {
    for (std::size_t j = 0; j < width; ++j) {
      const std::size_t at = i * width + j;
      result.as<float>()[at] = moments.sum.as<float>()[at] / (factors[i] * factors[j]);
    }
    result.as<float>()[i * width + i] += static_cast<float>(noise * moments.rows);
  }
  return result;
}

}  // namespace assay
