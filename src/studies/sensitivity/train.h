#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "studies/sensitivity/request.h"
#include "tensor/dtype.h"
#include "tensor/precision.h"

namespace assay {

/// What of some numbers a format loses. Shares of those that are not zero in f32.
struct FormatLoss {
  double under = 0;      ///< Round to zero.
  double subnormal = 0;  ///< Round to what is below the smallest normal number, and not to zero.
  double over = 0;       ///< Round to what is not finite.
};
/// Of values times `scale`, each rounded to nearest.
FormatLoss format_loss(std::span<const float> values, DType dtype, double scale);
/// Of stretches of so many values (0: all), each times the scale that op::round_float8 gives it.
FormatLoss scaled_format_loss(std::span<const float> values, DType dtype, std::int64_t stretch);

/// How a precision keeps one layer's numbers in training.
struct TrainedFormats {
  DType weights = DType::f32;             ///< Of parameters that are updated.
  DType gradients = DType::f32;           ///< Of parameters.
  std::optional<DType> output = {};       ///< Of the gradient of the layer's output, as its backward multiplies it.
  std::optional<std::int64_t> tile = {};  ///< That has a scale of its own: neighbours that share one; 0: all.
  double loss_scale = 1;                  ///< By which all gradients are larger; the first of a dynamic one.
};

/// A layer in a precision.
struct TrainedRow {
  std::string precision = {};
  TrainedFormats formats = {};
  double lost = 0;  ///< Share of updates that are not zero and leave the stored weight as it is.
  FormatLoss gradients = {};
  std::optional<FormatLoss> output = {};  ///< Absent where nothing reads one.
};

/// Parameters that the same layer reads, in the step that was looked at.
struct TrainedLayer {
  std::string path = {};
  Role role = Role::other;
  std::int64_t parameters = 0;
  double weight_rms = 0;
  double update_rms = 0;
  double gradient_rms = 0;
  std::optional<double> output_gradient_rms = {};
  std::vector<TrainedRow> rows = {};  ///< In the order of the precisions.
};

struct TrainSensitivity {
  std::string model = {};
  std::string data = {};
  std::int64_t step = 0;  ///< The one looked at, from 1.
  std::int64_t tokens = 0;
  double learning_rate = 0;
  double loss = 0;
  std::vector<std::string> precisions = {};
  std::vector<TrainedLayer> layers = {};
  bool is_partial = false;  ///< Ended before that step: no layers.
};

/// Of each model: AdamW's steps in fp32 with fusion as asked, and of the last what each precision would lose of its
/// updates and gradients. Throws what `sensitivity` throws, and user errors for precisions in which nothing is trained.
std::vector<TrainSensitivity> train_sensitivity_of(const SensitivityRequest& request, const FactsSource& facts,
                                                   const StudyCallbacks& callbacks);

/// Per precision: how much is lost, and where most.
std::vector<std::string> sentences_of(const TrainSensitivity& study);
Document to_document(const std::vector<TrainSensitivity>& studies, const MachineFacts& facts);

}  // namespace assay
