#include "experiments/dump_gradients.h"

#include "base/error.h"
#include "quality/loss.h"

namespace assay {
namespace {

/// The gradient of one parameter as the checkpoint would hold it.
Tensor as_stored(const Tensor& gradient, const Weight& weight) {
  const Tensor wide = converted(gradient.view(), DType::f32);
  return weight.stored_transposed ? transposed(wide.view()) : converted(wide.view(), DType::f32);
}

}  // namespace

TrainingBatch training_batch(const Model& model, const TokenBatch& tokens, const std::string& file) {
  TrainingBatch batch = {{tokens.batch, tokens.seq}, tokens.input_ids, tokens.attention_mask, tokens.labels};
  check_labels(model, tokens, file);
  if (model.config.task == Task::embedding) fail_user("{}: an embedding model has no loss", model.name);
  if (model.config.task == Task::classification) {
    if (tokens.labels.size() != static_cast<std::size_t>(tokens.batch))
      fail_user("{}: 'labels' need one label a row", file);
    return batch;
  }
  if (tokens.labels.empty()) batch.labels = default_labels(tokens.input_ids, tokens.attention_mask);
  if (batch.labels.size() != tokens.input_ids.size()) fail_user("{}: 'labels' need one label a token", file);
  batch.labels = shifted_labels(batch.labels, batch.extent);
  return batch;
}

std::vector<std::pair<std::string, Tensor>> gradients(const DumpRequest& request, const Model& model,
                                                      const TokenBatch& tokens, const MachineFacts& facts) {
  TrainingOptions options;
  options.precision = choose_precision(request.precision, request.engine.overrides, native_16bit(facts));
  options.fusion = request.engine.fusion;
  options.parts = StepParts::forward_backward;
  Trainer trainer(model.config, model.weights, options, find_backend(request.engine.device), facts);
  trainer.set_batch(training_batch(model, tokens, request.tokens.string()));
  std::vector<std::pair<std::string, Tensor>> found;
  trainer.forward();
  trainer.backward();
  for (const auto& [name, weight] : model.weights.by_name)
    found.emplace_back("grad." + weight.checkpoint_name, as_stored(*trainer.state().find("grad." + name), weight));
  return found;
}

}  // namespace assay
