#include "model/published_files.h"

#include <string_view>

#include "base/file.h"
#include "base/json.h"
#include "base/paths.h"
#include "model/config_json.h"
#include "model/families.h"

namespace assay {
namespace {

constexpr const char* model_config_file = "config.json";

bool is_from_folder(const Model& model) {
  return model.files && is_folder(*model.files);
}

}  // namespace

std::string checkpoint_name(const Model& model, const std::string& parameter) {
  const auto found = model.weights.by_name.find(parameter);
  const bool is_part = model.config.whole != nullptr;  // What is written is a model by itself.
  if (!is_from_folder(model) || is_part || found == model.weights.by_name.end() || found->second.stored == "random")
    return published_name(parameter, *model.config.family);
  return found->second.checkpoint_name;
}

Json published_config(const Model& model) {
  Json json = config_json(model.config);
  if (!model.files || !is_there(*model.files / model_config_file) || model.config.whole != nullptr) return json;
  const std::filesystem::path file = *model.files / model_config_file;
  Json original = parse_json(read_file(file, 16 << 20), file.string());
  if (original.contains("id2label") && original.at("id2label").size() == json.value("id2label", Json()).size()) {
    json.erase("id2label");
    json.erase("label2id");
  }
  original.update(json);
  for (const char* key : {"quantization_config", "compression_config"}) original.erase(key);
  return original;
}

void copy_support_files(const Model& model, const std::filesystem::path& to) {
  if (!is_from_folder(model)) return;
  for (const char* file : support_files) {
    if (file != std::string_view(model_config_file) && is_there(*model.files / file))
      write_file_atomically(to / file, read_file(*model.files / file));
  }
}

}  // namespace assay
