#include "studies/calibrate/activations.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "program/passes.h"

namespace assay {
namespace {

std::string output_name(const SmoothPlace& place) {
  return place.name + " input";
}

Program program_with(const Program& built, const std::vector<SmoothPlace>& places) {
  Program program = built;
  for (const SmoothPlace& place : places) program.outputs.push_back({output_name(place), place.value});
  return program;
}

/// Rows by token, of which padding is left out; all where a row stands for a sequence.
bool is_real(const QualityBatch& batch, std::int64_t rows, std::int64_t row) {
  return std::ssize(batch.mask) != rows || batch.mask[static_cast<std::size_t>(row)] != 0;
}

class PlaceRows {
 public:
  PlaceRows(std::int64_t width, std::int64_t most_rows, std::int64_t batches)
      : width_(width),
        a_batch_(std::max<std::int64_t>(1, most_rows / batches)),
        every_batch_((batches + most_rows - 1) / most_rows) {
    largest_.resize(static_cast<std::size_t>(width));
  }

  void add(const Tensor& values, const QualityBatch& batch) {
    const std::int64_t rows = values.count() / width_;
    const std::int64_t every = std::max<std::int64_t>(1, rows / a_batch_);
    const bool is_batch_kept = batches_++ % every_batch_ == 0;
    std::int64_t kept = 0;
    for (std::int64_t row = 0; row < rows; ++row) {
      if (!is_real(batch, rows, row)) continue;
      const float* const from = values.as<float>() + row * width_;
      for (std::size_t i = 0; i < largest_.size(); ++i) largest_[i] = std::max(largest_[i], std::abs(from[i]));
      if (!is_batch_kept || row % every != every / 2 || kept == a_batch_) continue;
      kept_.insert(kept_.end(), from, from + width_);
      ++kept;
    }
  }

  PlaceActivations take() {
    Tensor rows(DType::f32, {std::ssize(kept_) / width_, width_});
    std::copy(kept_.begin(), kept_.end(), rows.as<float>());
    return {std::move(largest_), std::move(rows)};
  }

 private:
  std::int64_t width_;
  std::int64_t a_batch_;
  std::int64_t every_batch_;
  std::int64_t batches_ = 0;
  std::vector<float> largest_;
  std::vector<float> kept_;
};

}  // namespace

std::vector<PlaceActivations> activations_at(const StudiedModel& subject, const std::vector<SmoothPlace>& places,
                                             std::int64_t most_rows) {
  std::vector<PlaceRows> rows;
  rows.reserve(places.size());
  for (const SmoothPlace& place : places)
    rows.emplace_back(std::ssize(place.channels), most_rows, std::ssize(subject.set.batches));
  Instance instance(assign_dtypes(program_with(subject.built, places), subject.fp32), subject.fp32,
                    subject.model.weights, find_backend(subject.request.engine.device), subject.facts);
  for (const QualityBatch& batch : subject.set.batches) {
    if (is_set(subject.callbacks.interrupted)) break;
    if (subject.callbacks.progress) subject.callbacks.progress("calibration data", 0);
    PlanOptions options{.extent = batch.extent,
                        .mask = batch.mask.empty() ? AttentionMask::absent : AttentionMask::given};
    for (const SmoothPlace& place : places) options.outputs.push_back(output_name(place));
    Plan plan(instance, options);
    plan.set_inputs(batch.ids, batch.mask, batch.token_types);
    plan.run();
    for (std::size_t i = 0; i < places.size(); ++i) rows[i].add(plan.output_f32(output_name(places[i])), batch);
  }
  std::vector<PlaceActivations> activations;
  activations.reserve(rows.size());
  for (PlaceRows& one : rows) activations.push_back(one.take());
  return activations;
}

}  // namespace assay
