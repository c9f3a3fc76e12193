#include "studies/shared/training_step.h"

#include "base/error.h"
#include "quality/loss.h"
#include "studies/shared/random_ids.h"

namespace assay {

const char* name(RunMode mode) {
  return mode == RunMode::infer ? "infer" : "train";
}

TrainingOptions whole_step(const PrecisionChoice& precision, const EngineOptions& engine, Recompute recompute) {
  TrainingOptions options;
  options.precision = precision;
  options.fusion = engine.fusion;
  options.graphs = engine.graphs;
  options.recompute = recompute;
  return options;
}

TrainingBatch random_batch(const Model& model, Extent extent, std::uint64_t seed) {
  TrainingBatch batch;
  batch.extent = extent;
  batch.input_ids = random_ids(model, extent, {seed, IdsFor::timing});
  if (model.config.task == Task::language_model) {
    batch.labels = shifted_labels(batch.input_ids, extent);
  } else {
    for (std::int64_t row = 0; row < extent.batch; ++row)
      batch.labels.push_back(static_cast<std::int32_t>(row % model.config.labels));
  }
  return batch;
}

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

}  // namespace assay
