#include "studies/calibrate/activations.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <span>
#include <string>
#include <utility>

#include "base/interrupt.h"
#include "program/passes.h"
#include "program/program.h"
#include "quality/evaluate.h"
#include "runtime/instance.h"
#include "runtime/layout.h"
#include "runtime/plan.h"
#include "studies/shared/engine.h"
#include "tensor/dtype.h"

namespace assay {
namespace {

std::string output_name(const LinearPlace& place) {
  return place.name + " input";
}

Program program_with(const Program& built, std::span<const LinearPlace> places) {
  Program program = built;
  for (const LinearPlace& place : places) program.outputs.push_back({output_name(place), place.value});
  return program;
}

/// Rows by token, of which padding is left out; all where a row stands for a sequence.
std::vector<const float*> rows_of_tokens(const QualityBatch& batch, const Tensor& values, std::int64_t width) {
  const std::int64_t rows = values.count() / width;
  const bool by_token = std::ssize(batch.mask) == rows;
  std::vector<const float*> real;
  real.reserve(static_cast<std::size_t>(rows));
  for (std::int64_t row = 0; row < rows; ++row) {
    if (!by_token || batch.mask[static_cast<std::size_t>(row)] != 0) real.push_back(values.as<float>() + row * width);
  }
  return real;
}

/// Distances between places of rows that are taken from one batch after the other, prime to most lengths.
constexpr std::int64_t stagger = 37;

class PlaceRows {
 public:
  PlaceRows(std::int64_t width, std::int64_t most_rows, std::int64_t batches)
      : width_(width),
        a_batch_(std::max<std::int64_t>(1, most_rows / batches)),
        every_batch_((batches + most_rows - 1) / most_rows) {
    largest_.resize(static_cast<std::size_t>(width));
  }

  /// A few tokens of a model may be a hundred times as large as all others, and the model depend on them: every second
  /// row that is kept is the largest of its batch.
  void add(const std::vector<const float*>& rows) {
    std::vector<std::pair<float, const float*>> real;  // with the largest magnitude of each
    real.reserve(rows.size());
    for (const float* const row : rows) real.emplace_back(added(row), row);
    if (batches_++ % every_batch_ != 0 || real.empty()) return;
    const auto largest = std::max_element(real.begin(), real.end());
    for (std::int64_t i = 0; i < a_batch_; ++i, ++kept_rows_) {
      const auto at = static_cast<std::size_t>(kept_rows_ * stagger % std::ssize(real));
      const float* const from = kept_rows_ % 2 == 0 ? real[at].second : largest->second;
      kept_.insert(kept_.end(), from, from + width_);
    }
  }

  PlaceActivations take() {
    Tensor rows(DType::f32, {std::ssize(kept_) / width_, width_});
    std::copy(kept_.begin(), kept_.end(), rows.as<float>());
    return {std::move(largest_), std::move(rows)};
  }

 private:
  /// Its largest magnitude.
  float added(const float* row) {
    float most = 0;
    for (std::size_t i = 0; i < largest_.size(); ++i) {
      largest_[i] = std::max(largest_[i], std::abs(row[i]));
      most = std::max(most, std::abs(row[i]));
    }
    return most;
  }

  std::int64_t width_;
  std::int64_t a_batch_;
  std::int64_t every_batch_;
  std::int64_t batches_ = 0;
  std::int64_t kept_rows_ = 0;
  std::vector<float> largest_;
  std::vector<float> kept_;
};

}  // namespace

void visit_places(const StudiedModel& subject, std::span<const LinearPlace> places, std::size_t every,
                  const PlaceVisitor& visit) {
  Instance instance(assign_dtypes(program_with(subject.built, places), subject.fp32), subject.fp32,
                    subject.model.weights, find_backend(subject.request.engine.device), subject.facts);
  for (std::size_t b = 0; b < subject.set.batches.size(); b += every) {
    const QualityBatch& batch = subject.set.batches[b];
    if (is_set(subject.callbacks.interrupted)) break;
    if (subject.callbacks.progress) subject.callbacks.progress("calibration data", 0);
    PlanOptions options{.extent = batch.extent,
                        .mask = batch.mask.empty() ? AttentionMask::absent : AttentionMask::given};
    for (const LinearPlace& place : places) options.outputs.push_back(output_name(place));
    Plan plan(instance, options);
    plan.set_inputs(batch.ids, batch.mask, batch.token_types);
    plan.run();
    for (std::size_t i = 0; i < places.size(); ++i) {
      const Tensor values = plan.output_f32(output_name(places[i]));
      visit(i, rows_of_tokens(batch, values, places[i].width));
    }
  }
}

std::vector<PlaceActivations> activations_at(const StudiedModel& subject, const std::vector<LinearPlace>& places,
                                             std::int64_t most_rows) {
  std::vector<PlaceRows> rows;
  rows.reserve(places.size());
  for (const LinearPlace& place : places) rows.emplace_back(place.width, most_rows, std::ssize(subject.set.batches));
  visit_places(subject, places, 1,
               [&](std::size_t place, const std::vector<const float*>& real) { rows[place].add(real); });
  std::vector<PlaceActivations> activations;
  activations.reserve(rows.size());
  for (PlaceRows& one : rows) activations.push_back(one.take());
  return activations;
}

}  // namespace assay
