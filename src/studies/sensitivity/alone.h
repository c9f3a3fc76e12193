#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/plan.h"
#include "studies/sensitivity/run.h"

namespace assay {

/// What a linear layer multiplies: its rows; over experts, those of one expert together, and where each one's begin.
struct LayerInput {
  Tensor x;                                ///< (rows, width), f32
  std::vector<std::int32_t> offsets = {};  ///< (experts + 1), or none
};

/// fp32's inputs of some linear layers on a batch, from one run of a program that keeps them.
class LayerInputs {
 public:
  LayerInputs(const StudiedModel& subject, QualityBatch batch, const std::vector<const ModelUnit*>& layers);

  const QualityBatch& batch() const { return batch_; }
  /// Of every row, padding too.
  LayerInput whole_input_of(const ModelUnit& unit) const;
  /// Rows of real tokens; a classifier's rows all are, and of experts' padding stays, since a group holds both.
  LayerInput input_of(const ModelUnit& unit) const;

 private:
  std::vector<std::int32_t> offsets_of(const ModelUnit& unit) const;

  QualityBatch batch_;
  std::unique_ptr<Instance> instance_;
  std::unique_ptr<Plan> plan_;
};

/// One linear layer, or one over experts, as a program of its own, in one precision, with the model's weights.
class LayerAlone {
 public:
  /// `extent`: of its rows. What `subject` holds of its weight is borrowed.
  LayerAlone(const StudiedModel& subject, const Node& linear, const PrecisionChoice& choice, Extent extent);

  void set_input(const LayerInput& input);
  /// rows x width, f32.
  void run() { plan_->run(); }
  Tensor output() const { return plan_->output_f32("y"); }
  /// The weights as stored, widened to f32, one after the other: what the products multiply.
  std::vector<float> stored_weight();

 private:
  void append_stored(ValueId weight, ValueId scales, std::vector<float>& values);

  std::unique_ptr<Instance> instance_;
  std::unique_ptr<Plan> plan_;
};

/// The linear node, or the one over experts, of that path in a program as build_program makes it.
const Node& linear_at(const Program& built, const std::string& path);

/// 10 log10 of the power of `exact` over that of the difference; absent where there is no difference.
std::optional<double> signal_to_noise_db(std::span<const float> exact, std::span<const float> other);

/// Kurtosis (fourth central moment over the squared variance) and largest magnitude over root mean square.
struct Outliers {
  double kurtosis = 0;
  double largest_over_rms = 0;
};
Outliers outliers_of(std::span<const float> values);

}  // namespace assay
