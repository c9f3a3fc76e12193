#include "model/fresh_head.h"

#include "base/error.h"
#include "model/presets.h"

namespace assay {
namespace {

bool is_of_head(const std::string& name) {
  return name.starts_with("pooler.") || name.starts_with("pre_classifier.") || name.starts_with("classifier.");
}

}  // namespace

Model with_fresh_head(Model model, const FreshHead& head) {
  if (model.config.task == Task::language_model)
    fail_user("--labels: {} is a language model; only encoders take a classification head", model.name);
  model.config.task = Task::classification;
  model.config.labels = head.labels;
  model.config.outputs = head.labels == 1 ? Outputs::scores : Outputs::classes;
  Weights weights = random_weights(build_program(model.config, {}), model.config, head.seed);
  weights.identity = fmt::format("{}, fresh head of {} seed {}", model.weights.identity, head.labels, head.seed);
  for (const auto& [name, weight] : model.weights.by_name) {
    if (!is_of_head(name)) weights.by_name.at(name) = weight;
  }
  model.weights = std::move(weights);
  return model;
}

}  // namespace assay
