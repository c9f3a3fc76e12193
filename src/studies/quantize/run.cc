#include "studies/quantize/run.h"

#include <fmt/format.h>

#include <memory>

#include "base/error.h"
#include "base/paths.h"
#include "base/units.h"
#include "model/lora.h"
#include "quantization/folder.h"
#include "quantization/gguf_file.h"
#include "studies/calibrate/run.h"

namespace assay {
namespace {

/// The program's constants are what is written: operation by operation, on the host.
EngineOptions engine_to_write(EngineOptions engine) {
  engine.device = "cpu";
  engine.fusion = Fusion::off;
  engine.casts = Casts::once;
  return engine;
}

WrittenModel write_model(const QuantizationSource& source, const QuantizeRequest& request) {
  WrittenModel written;
  if (has_ending(request.out, ".gguf")) {
    check_gguf(source);
    write_new_file(request.out, request.existing, [&](const auto& to) { written = write_model_gguf(source, to); });
  } else {
    check_folder(source);
    write_new_folder(request.out, request.existing, [&](const auto& to) { written = write_model_folder(source, to); });
  }
  return written;
}

std::string written_words(const Model& model, const QuantizeRequest& request, const WrittenModel& written) {
  const double bits = 8 * static_cast<double>(written.bytes) / static_cast<double>(model.weights.parameters());
  return fmt::format("{}: {} weights in codes, {} as they are, {}, {:.3g} bits a parameter", request.out.string(),
                     written.quantised, written.plain, format_bytes(static_cast<double>(written.bytes)), bits);
}

/// Calibrates the model for the row of the precision that takes it, which becomes what it is; says so.
std::string calibrated_words(const QuantizeRequest& request, const EngineOptions& engine, const MachineFacts& facts,
                             InterruptFlag interrupted, Model& model) {
  if (request.calibration.empty()) return "";
  const PrecisionChoice choice = precision_choice(request.precision, engine, facts);
  const Precision* const row = calibrated_row(choice);
  if (row == nullptr) fail_user("--calibrate: {} takes no calibration, int8 does", request.precision);
  StudyCallbacks callbacks;
  callbacks.interrupted = interrupted;
  const Calibration found = calibrate(model,
                                      {.data = request.calibration,
                                       .samples = request.calibration_samples,
                                       .precision = request.precision,
                                       .engine = engine},
                                      facts, callbacks);
  const auto made = std::make_shared<CalibratedWeights>(calibrated_weights(model, found));
  model.weights = made->weights;
  model.config = made->config;
  model.calibrated[row->name] = made;
  return found.words;
}

}  // namespace

std::vector<std::string> quantize(const QuantizeRequest& request, const MachineFacts& facts,
                                  InterruptFlag interrupted) {
  check_new_path(request.out, request.existing);
  const Model opened = open_model(request.model, request.model_options);
  Model model = with_merged_lora(opened);
  const EngineOptions engine = engine_to_write(request.engine);
  const std::string calibration = calibrated_words(request, engine, facts, interrupted, model);
  const auto instance = make_instance(model, request.precision, engine, facts);
  const Recipe* recipe = find_recipe(request.precision, engine);
  const QuantizationSource source{model,
                                  *instance,
                                  precision_title(request.precision, instance->precision()),
                                  recipe == nullptr ? "" : recipe_text(*recipe),
                                  interrupted,
                                  calibration};
  const WrittenModel written = write_model(source, request);
  std::vector<std::string> sentences = {written_words(model, request, written)};
  if (!calibration.empty()) sentences.push_back(calibration);
  sentences.insert(sentences.end(), written.notes.begin(), written.notes.end());
  if (recipe != nullptr && recipe->kv)
    sentences.push_back("how keys and values are kept (kv) is not in the file: who runs it says so");
  if (const std::string settled = settled_words(*instance, facts); !settled.empty()) sentences.push_back(settled);
  return sentences;
}

}  // namespace assay
