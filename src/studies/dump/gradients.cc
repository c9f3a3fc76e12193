#include "studies/dump/gradients.h"

#include "base/error.h"
#include "runtime/non_finite.h"
#include "studies/shared/training_step.h"

namespace assay {
namespace {

/// The gradient of one parameter as the checkpoint would hold it.
Tensor as_stored(const Tensor& gradient, const Weight& weight, const ModelConfig& config) {
  return to_stored(converted(gradient.view(), DType::f32).view(), weight.order, config);
}

void refuse_nonfinite(const Model& model, Trainer& trainer, const std::pair<std::string, Tensor>& gradient,
                      std::span<const std::uint8_t> mask) {
  const std::optional<NonFinite> found = first_non_finite(gradient.second.view());
  if (!found) return;
  const NonFiniteRun run = trace_non_finite(*trainer.step_plan(), gradient.first, *found, mask);
  fail_user("{}: {}, and nothing is written (--allow-nonfinite writes it)", model.name, words(run));
}

}  // namespace

std::vector<std::pair<std::string, Tensor>> gradients(const DumpRequest& request, const Model& model,
                                                      const TokenBatch& tokens, const MachineFacts& facts) {
  TrainingOptions options;
  options.precision = precision_choice(request.precision, request.engine, facts);
  options.fusion = request.engine.fusion;
  options.parts = StepParts::forward_backward;
  if (!tokens.token_types.empty()) options.token_types = TokenTypes::given;
  Trainer trainer(model.config, model.weights, options, find_backend(request.engine.device), facts);
  trainer.set_batch(training_batch(model, tokens, request.tokens.string()));
  std::vector<std::pair<std::string, Tensor>> found;
  trainer.forward();
  trainer.backward();
  for (const auto& [name, weight] : model.weights.by_name) {
    const Tensor* const gradient = trainer.state().find("grad." + name);
    if (gradient == nullptr) continue;  // The loss does not depend on it.
    found.emplace_back("grad." + weight.checkpoint_name, as_stored(*gradient, weight, model.config));
    if (request.model_options.checkpoint.nonfinite == Nonfinite::refused)
      refuse_nonfinite(model, trainer, found.back(), tokens.attention_mask);
  }
  return found;
}

}  // namespace assay
