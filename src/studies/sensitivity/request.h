#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "quality/protocols.h"
#include "results/document.h"
#include "studies/shared/energy_record.h"
#include "studies/shared/engine.h"
#include "studies/shared/surroundings.h"
#include "studies/shared/training_step.h"

namespace assay {

/// What is given another precision than the rest.
enum class UnitKind : std::uint8_t {
  layer,  ///< A linear layer, or an embedding.
  block,  ///< All of `layers.N`.
  role,   ///< All operations of a role: attention, mlp, norm, embedding, head.
  whole   ///< Everything: the plain precision.
};
const char* name(UnitKind kind);
/// Throws a user error for any other word.
UnitKind parse_unit_kind(const std::string& word);

/// Whether the estimates by gradients stand beside the direct figures.
enum class Estimates : std::uint8_t { made, left_out };

struct SensitivityRequest {
  std::vector<std::string> models = {};
  RunMode mode = RunMode::infer;  ///< train: what updates and gradients of a step lose; of what follows it reads
                                  ///< precisions, data, window, batch, the last three before `engine`, and engine.
  std::vector<std::string> precisions = {"int8", "bf16"};
  std::vector<std::filesystem::path> data = {};  ///< One for all models, or one for each; none: the bundled text.
  std::vector<std::string> by = {"layer", "block", "role"};
  std::int64_t window = 128;
  std::int64_t batch = 0;    ///< Rows at a time; 0: 4 windows of a text, 32 sentences.
  std::int64_t tokens = 0;   ///< At least so many are scored, in whole batches; 0: as many as the budget allows.
  double seconds = 120;      ///< Budget of the direct way, for each model; a batch is scored whatever it takes.
  double layer_seconds = 2;  ///< Budget of the timing of layers, for each model and precision.
  Estimates estimates = Estimates::made;
  std::int64_t gradient_rows = 32;    ///< Rows behind the estimates, at most.
  std::filesystem::path resume = {};  ///< What an earlier run wrote as JSON.
  std::int64_t steps = 4;             ///< train: the last of so many is looked at: Adam's first are of one size.
  double learning_rate = 1e-3;        ///< train.
  TrainingStorage storage = {};       ///< train.
  EngineOptions engine = {};
  ModelOptions model_options = {};
  EnergyRequest energy = {};
  std::filesystem::path root = "/";  ///< Where the meters' files are.
};

/// Which layers of a model can bear a low precision: for each layer, block and role what quality becomes with it alone
/// in that precision and with all but it; beside it its share of time, bytes and energy, its error on real activations,
/// and estimates by gradients with their rank correlation to what was measured. Ends at an interrupt with the layers
/// that were done. Throws user errors for what does not exist or has no classes to compare.
Document sensitivity(const SensitivityRequest& request, const FactsSource& facts, const StudyCallbacks& callbacks);

}  // namespace assay
