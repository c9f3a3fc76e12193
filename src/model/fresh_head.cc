#include "model/fresh_head.h"

#include "base/error.h"
#include "model/families.h"
#include "model/random_weights.h"

namespace assay {
Model with_fresh_head(Model model, const FreshHead& head) {
  if (model.config.task == Task::language_model)
    fail_user("--labels: {} is a language model; only encoders take a classification head", model.name);
  model.config.task = Task::classification;
  if (head.labels != model.config.labels) model.config.label_names.clear();
  model.config.labels = head.labels;
  model.config.outputs = head.labels == 1 ? Outputs::scores : Outputs::classes;
  Weights weights = random_weights(build_program(model.config, {}), model.config, head.seed);
  weights.identity = fmt::format("{}, fresh head of {} seed {}", model.weights.identity, head.labels, head.seed);
  for (const auto& [name, weight] : model.weights.by_name) {
    const auto kept = weights.by_name.find(name);
    const bool is_of_head = begins_with_any(name, model.config.family->tensors->task_head);
    if (kept != weights.by_name.end() && !is_of_head) kept->second = weight;
  }
  model.weights = std::move(weights);
  return model;
}

}  // namespace assay
