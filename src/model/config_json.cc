#include "model/config_json.h"

#include "base/json.h"
#include "model/families.h"

namespace assay {

Json config_json(const ModelConfig& config) {
  Json json = config.family->write(config);
  json["model_type"] = config.family->name;
  json["vocab_size"] = config.vocab_size;
  json["initializer_range"] = config.initializer_range;
  if (config.family->padding != Padding::no_entry)
    json["pad_token_id"] = config.padding_id ? Json(*config.padding_id) : Json(nullptr);
  return json;
}

}  // namespace assay
