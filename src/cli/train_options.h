#pragma once

#include <string>
#include <vector>

#include "cli/cli.h"
#include "studies/train/run.h"

namespace assay {

// Options that training and comparing trainings share; in train.cc.

/// Model, data, steps, batch and length.
void add_data_options(CLI::App& command, TrainRequest& request);
void add_optimizer_options(CLI::App& command, TrainRequest& request);
/// --states and --gradients, one of each.
void add_storage_options(CLI::App& command, TrainingStorage& storage);
void add_schedule_options(CLI::App& command, TrainRequest& request);
/// Recomputation, dropout, and what a loss does that is not finite.
void add_step_options(CLI::App& command, TrainRequest& request);

/// "2.3456", or that it is not finite.
std::string loss_words(double loss);

}  // namespace assay
