#pragma once

#include <string>

#include "studies/train/run.h"
#include "training/data.h"

namespace assay {

/// Steps of the whole training: as asked, else epochs. Throws a user error where neither says.
std::int64_t total_steps(const TrainRequest& request, std::int64_t steps_an_epoch);

/// The request's training options with what follows from the rest: the precision's row, warm-up and length of the
/// schedule, whether gradients are added, whether the data has token types, which share of the state is this rank's.
/// Throws a user error where the group has more ranks than a step has rows.
TrainingOptions settle_options(const TrainRequest& request, const Model& model, const TrainingData& data,
                               const MachineFacts& facts, const Group& group);

/// What ranks have to have alike beside recorded_options, in one line.
std::string rank_options(const TrainRequest& request, std::int64_t total_steps);

/// What the numbers of a training depend on, by the names of the command's options. A training is only gone on with
/// where all of it is the same. The number of steps belongs to it where the schedule has an end.
Json recorded_options(const TrainRequest& request, const TrainingOptions& options, const Model& model,
                      const std::string& data_identity);

}  // namespace assay
