#pragma once

#include <string>

#include "model/model.h"
#include "model/stored_order.h"

namespace assay {

/// Whether adapters are trained, and the model is not.
bool trains_adapters(const Model& model);

/// What a parameter is called in the files of a training, and how they hold it: as the model's checkpoint, or as PEFT
/// where adapters are trained.
std::string name_in_training(const Model& model, const std::string& parameter);
StoredOrder order_in_training(const Model& model, const std::string& parameter);

}  // namespace assay
