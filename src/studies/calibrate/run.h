#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "hardware/facts.h"
#include "model/changed_weights.h"
#include "model/model.h"
#include "studies/calibrate/scales.h"
#include "studies/shared/engine.h"
#include "studies/shared/surroundings.h"
#include "tensor/precision.h"

namespace assay {

struct CalibrationRequest {
  std::filesystem::path data = {};  ///< A text, .tsv, .jsonl or folder of .npy.
  std::int64_t samples = 128;       ///< Rows of it: windows of a text, or sentences.
  std::int64_t window = 128;        ///< Tokens a row of a text.
  std::string precision = "int8";   ///< Whose error is made small.
  EngineOptions engine = {};
};

/// What a head that is tied to the token embedding reads.
enum class HeadTable : std::uint8_t { shared, own };

/// What calibration made of one place.
struct CalibratedPlace {
  std::string name = {};
  double alpha = 0;  ///< Of the exponent that won; 0 and `is_smoothed` false: it stays as it was.
  bool is_smoothed = false;
  double error_before = 0;  ///< Of its layers' outputs on the samples, relative, squared.
  double error_after = 0;
  bool is_fed_back = false;  ///< Its codes were rounded with feedback of errors.
  StaticScale scale = {};    ///< Where the row's are static; 0, "by token": it has none here.
};

/// Factors that make the outputs of linear layers with quantised activations nearer to fp32's, as changes of weights
/// that leave the function in fp32 what it is, and corrections of biases, which do not.
struct Calibration {
  std::shared_ptr<WeightChanges> changes = {};
  std::shared_ptr<ActivationScales> scales = {};  ///< Null where the row's are not static.
  HeadTable head = HeadTable::shared;             ///< own: `changes` are of a model with_own_head.
  std::vector<CalibratedPlace> places = {};
  std::string words = {};  ///< Method, data and its hash, for methods texts and records.
};

/// For each place, SmoothQuant's factors (Xiao et al. 2023): those of several alphas, and what descent from the best of
/// them finds, by the least error of the row's own kernels, with scales by token, on what the samples put there; then
/// codes with feedback of rounding errors (GPTQ, Frantar et al. 2023) where these make that error less; then, where the
/// row's scales are static, that of the methods of scale_choices whose error is least, or none where scales by token
/// err by far less; then bias correction (Nagel et al. 2019): the mean error of each layer that has a bias is taken off
/// it. A head that is tied to the token embedding gets a table of its own where factors make its error less, since they
/// would have to be taken out of the embedding again. Throws user errors for data that the model cannot run on.
Calibration calibrate(const Model& model, const CalibrationRequest& request, const MachineFacts& facts,
                      const StudyCallbacks& callbacks);

/// The model's weights with what calibration found.
CalibratedWeights calibrated_weights(const Model& model, const Calibration& calibration);

}  // namespace assay
