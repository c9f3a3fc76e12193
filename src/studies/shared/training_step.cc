#include "studies/shared/training_step.h"

#include "base/error.h"
#include "quality/loss.h"
#include "studies/shared/random_ids.h"

namespace assay {

const char* name(RunMode mode) {
  constexpr const char* names[] = {"infer", "train", "generate"};
  return names[static_cast<std::size_t>(mode)];
}

TrainingOptions whole_step(const PrecisionChoice& precision, const EngineOptions& engine, Recompute recompute,
                           const TrainingStorage& storage) {
  TrainingOptions options;
  options.precision = precision;
  options.fusion = engine.fusion;
  options.graphs = engine.graphs;
  options.recompute = recompute;
  options.storage = storage;
  return options;
}

std::vector<std::int32_t> made_up_labels(const ModelConfig& config, const std::vector<std::int32_t>& ids,
                                         Extent extent) {
  if (config.task == Task::language_model) return shifted_labels(ids, extent);
  if (config.task == Task::masked_language_model) return ids;
  std::vector<std::int32_t> labels(labels_tokens(config.task) ? ids.size() : static_cast<std::size_t>(extent.batch));
  for (std::size_t i = 0; i < labels.size(); ++i)
    labels[i] = static_cast<std::int32_t>(static_cast<std::int64_t>(i) % config.labels);
  return labels;
}

TrainingBatch random_batch(const Model& model, Extent extent, std::uint64_t seed) {
  TrainingBatch batch;
  batch.extent = extent;
  batch.input_ids = random_ids(model, extent, {seed, IdsFor::timing});
  batch.labels = made_up_labels(model.config, batch.input_ids, extent);
  return batch;
}

TrainingBatch training_batch(const Model& model, const TokenBatch& tokens, const std::string& file) {
  TrainingBatch batch = {
      {tokens.batch, tokens.seq}, tokens.input_ids, tokens.attention_mask, tokens.labels, tokens.token_types};
  check_labels(model, tokens, file);
  const Task task = model.config.task;
  if (task == Task::embedding) fail_user("{}: an embedding model has no loss", model.name);
  if (task == Task::classification && tokens.labels.size() != static_cast<std::size_t>(tokens.batch))
    fail_user("{}: 'labels' need one label a row", file);
  if (task == Task::classification) return batch;
  if (tokens.labels.empty() && task == Task::language_model)
    batch.labels = default_labels(tokens.input_ids, tokens.attention_mask);
  if (batch.labels.size() != tokens.input_ids.size()) fail_user("{}: 'labels' need one label a token", file);
  if (task == Task::language_model) batch.labels = shifted_labels(batch.labels, batch.extent);
  return batch;
}

}  // namespace assay
