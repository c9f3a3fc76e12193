#pragma once

#include <string>
#include <vector>

#include "cli/cli.h"
#include "studies/shared/step_variant.h"
#include "training/state_format.h"

namespace assay {

/// --states and --gradients: lists.
void add_storage_lists(CLI::App& command, std::vector<std::string>& states, std::vector<std::string>& gradients);
/// --gradients: one.
void add_gradients_option(CLI::App& command, TrainingStorage& storage);
/// Lists of --states, --gradients, --recompute, --optimizer, --clip, --accumulate and --base: every combination is
/// meant.
void add_step_axes(CLI::App& command, StepAxes& axes);
/// Throws a user error for an axis that is given where nothing is trained.
void refuse_step_axes(const CLI::App& command, const std::string& why);

/// --lora, beside add_model_options' --lora-from.
void add_lora_option(CLI::App& command, ModelOptions& options);

/// --config and --set. Behind the command's positional "model" or "models", which may then be left out.
void add_size_options(CLI::App& command, ModelOptions& options);
/// A model of --config is named by its path. Throws a user error where neither or both are given.
void settle_model(std::string& model, const ModelOptions& options);
void settle_models(std::vector<std::string>& models, const ModelOptions& options);

}  // namespace assay
