#include "training/parameter_names.h"

#include "model/families.h"
#include "model/lora.h"
#include "model/published_files.h"

namespace assay {

bool trains_adapters(const Model& model) {
  return !model.config.adapters.empty();
}

std::string name_in_training(const Model& model, const std::string& parameter) {
  return trains_adapters(model) ? adapter_file_name(parameter, model.config) : checkpoint_name(model, parameter);
}

StoredOrder order_in_training(const Model& model, const std::string& parameter) {
  return trains_adapters(model) ? adapter_file_order(parameter, model.config)
                                : stored_order(parameter, *model.config.family);
}

}  // namespace assay
