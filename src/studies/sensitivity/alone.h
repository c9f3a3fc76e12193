#pragma once

#include <memory>
#include <string>
#include <vector>

#include "studies/sensitivity/run.h"

namespace assay {

/// One linear layer as a program of its own, in one precision, with the model's weights.
class LayerAlone {
 public:
  /// `extent`: of its rows. What `subject` holds of its weight is borrowed.
  LayerAlone(const StudiedModel& subject, const Node& linear, const PrecisionChoice& choice, Extent extent);

  /// Input and output: rows x width, f32.
  void set_input(std::span<const float> x);
  void run() { plan_->run(); }
  Tensor output() const { return plan_->output_f32("y"); }
  /// The weight as stored, widened to f32: what the products multiply.
  std::vector<float> stored_weight();

 private:
  std::unique_ptr<Instance> instance_;
  std::unique_ptr<Plan> plan_;
};

/// The linear node of that path in a program as build_program makes it.
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
