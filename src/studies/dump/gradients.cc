#include "studies/dump/gradients.h"

#include "base/error.h"
#include "quality/loss.h"
#include "runtime/non_finite.h"

namespace assay {
namespace {

/// The gradient of one parameter as the checkpoint would hold it.
Tensor as_stored(const Tensor& gradient, const Weight& weight) {
  const Tensor wide = converted(gradient.view(), DType::f32);
  return weight.stored_transposed ? transposed(wide.view()) : converted(wide.view(), DType::f32);
}

void refuse_nonfinite(const Model& model, Trainer& trainer, const std::pair<std::string, Tensor>& gradient,
                      std::span<const std::uint8_t> mask) {
  const std::optional<NonFinite> found = first_non_finite(gradient.second.view());
  if (!found) return;
  const NonFiniteRun run = trace_non_finite(*trainer.step_plan(), gradient.first, *found, mask);
  fail_user("{}: {}, and nothing is written (--allow-nonfinite writes it)", model.name, words(run));
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
  for (const auto& [name, weight] : model.weights.by_name) {
    found.emplace_back("grad." + weight.checkpoint_name, as_stored(*trainer.state().find("grad." + name), weight));
    if (request.model_options.checkpoint.nonfinite == Nonfinite::refused)
      refuse_nonfinite(model, trainer, found.back(), tokens.attention_mask);
  }
  return found;
}

}  // namespace assay
