#include "studies/bench/calibrated.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/paths.h"
#include "results/model_name.h"
#include "studies/bench/contenders.h"
#include "studies/calibrate/run.h"
#include "text/data_set_name.h"

namespace assay {
namespace {

bool is_scored_on(const BenchRequest& request) {
  std::error_code ignored;
  if (request.quality == QualityMode::none || request.data.empty()) return false;
  return request.data == request.calibration ||
         std::filesystem::equivalent(find_data(request.data), find_data(request.calibration), ignored);
}

bool takes_any(const BenchRequest& request, const MachineFacts& facts) {
  const std::vector<Contender> asked = asked_contenders(request);
  return std::any_of(asked.begin(), asked.end(), [&](const Contender& contender) {
    return takes_calibration(precision_choice(contender.precision, engine_for(contender, request.engine), facts));
  });
}

}  // namespace

void calibrate_for(const BenchRequest& request, Model& model, const MachineFacts& facts,
                   const StudyCallbacks& callbacks) {
  if (request.calibration.empty()) return;
  if (is_scored_on(request))
    fail_user("--calibrate {}: is scored, too; data that precisions are calibrated on flatters them",
              request.calibration.string());
  if (!takes_any(request, facts)) fail_user("--calibrate: of the precisions, int8 alone takes it");
  CalibrationRequest calibration{.data = request.calibration, .samples = request.calibration_samples};
  calibration.engine = request.engine;
  calibration.engine.overrides.clear();
  const Calibration found = calibrate(model, calibration, facts, callbacks);
  const auto smoothed = std::count_if(found.places.begin(), found.places.end(),
                                      [](const SmoothedPlace& place) { return place.is_smoothed; });
  if (callbacks.say)
    callbacks.say(fmt::format("{}: {}; {} of {} places changed", shown_model_name(model.name), found.words, smoothed,
                              found.places.size()));
  model.calibrated = std::make_shared<Weights>(changed_weights(model.weights, found.changes));
  model.calibration = found.words;
}

}  // namespace assay
