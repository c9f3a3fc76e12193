#include "studies/bench/trial.h"

#include <algorithm>

#include "studies/shared/child.h"

namespace assay {
namespace {

Status status_after(Ending ending) {
  switch (ending) {
    case Ending::out_of_memory:
      return Status::oom;
    case Ending::crashed:
      return Status::crashed;
    case Ending::hung:
      return Status::too_slow;
    case Ending::answered:
    case Ending::declined:
      break;
  }
  return Status::ok;
}

}  // namespace

double trial_limit_s(const BenchRequest& request) {
  return request.trial_seconds > 0 ? request.trial_seconds : std::max(300.0, 20 * request.seconds);
}

ResidentRequest trial_request(const Model& model, const BenchRequest& request, Extent extent) {
  ResidentRequest trial;
  trial.model = asked_name(model, request.model_options);
  trial.extent = extent;
  trial.engine = request.engine;
  trial.model_options = request.model_options;
  trial.emulated = request.emulated;
  return trial;
}

const ResidentAnswer* find_trial(const std::vector<Trial>& trials, Extent extent) {
  const auto found = std::find_if(trials.begin(), trials.end(), [extent](const Trial& trial) {
    return trial.extent.batch == extent.batch && trial.extent.seq == extent.seq;
  });
  return found != trials.end() ? &found->answer : nullptr;
}

void set_outcome(const ResidentAnswer& answer, CellOutcome& outcome) {
  outcome.status = status_after(answer.ending);
  if (outcome.status != Status::ok) outcome.reason = answer.fault;
}

}  // namespace assay
