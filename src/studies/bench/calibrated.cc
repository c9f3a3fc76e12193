#include "studies/bench/calibrated.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "base/error.h"
#include "results/model_name.h"
#include "studies/bench/contenders.h"
#include "studies/calibrate/run.h"
#include "studies/shared/quality_data.h"

namespace assay {
namespace {

QualitySet cut_rows(const Model& model, const BenchRequest& request, const std::filesystem::path& data) {
  return std::move(*quality_data(model, {data, request.protocol, request.model_options.seed}).set);
}

/// By ids, cut in the same way: copies, other formats and the bundled text are known as what they are.
bool is_scored_on(const Model& model, const BenchRequest& request) {
  if (request.quality == QualityMode::none) return false;
  const QualitySet scored = cut_rows(model, request, request.data);
  const QualitySet calibrated = cut_rows(model, request, request.calibration);
  return std::ranges::equal(scored.batches, calibrated.batches, {}, &QualityBatch::ids, &QualityBatch::ids);
}

/// Of the precisions asked of this program, those that take calibration, each once.
std::set<std::string> calibrated_rows(const BenchRequest& request, const MachineFacts& facts) {
  std::set<std::string> rows;
  for (const Contender& contender : asked_contenders(request)) {
    if (!contender.engine.empty()) continue;
    const PrecisionChoice choice = precision_choice(contender.precision, engine_for(contender, request.engine), facts);
    if (const Precision* row = calibrated_row(choice)) rows.insert(row->name);
  }
  return rows;
}

std::string said_of(const Model& model, const Calibration& found) {
  const auto smoothed = std::count_if(found.places.begin(), found.places.end(),
                                      [](const CalibratedPlace& place) { return place.is_smoothed; });
  return fmt::format("{}: {}; {} of {} places smoothed", shown_model_name(model.name), found.words, smoothed,
                     found.places.size());
}

}  // namespace

void calibrate_for(const BenchRequest& request, Model& model, const MachineFacts& facts,
                   const StudyCallbacks& callbacks) {
  if (request.calibration.empty()) return;
  if (is_scored_on(model, request))
    fail_user("--calibrate {}: is scored, too; data that precisions are calibrated on flatters them",
              request.calibration.string());
  const std::set<std::string> rows = calibrated_rows(request, facts);
  if (rows.empty() && peers_calibrate(request)) return;
  if (rows.empty()) fail_user("--calibrate: of the precisions, int8 and int8-static alone take it");
  CalibrationRequest calibration{.data = request.calibration, .samples = request.calibration_samples};
  calibration.engine = request.engine;
  calibration.engine.overrides.clear();
  for (const std::string& row : rows) {
    calibration.precision = row;
    const Calibration found = calibrate(model, calibration, facts, callbacks);
    if (callbacks.say) callbacks.say(said_of(model, found));
    model.calibrated[row] = std::make_shared<CalibratedWeights>(calibrated_weights(model, found));
  }
}

}  // namespace assay
