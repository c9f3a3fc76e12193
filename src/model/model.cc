#include "model/model.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/paths.h"
#include "base/printable.h"
#include "hub/catalogue.h"
#include "hub/models.h"
#include "model/lora.h"
#include "model/presets.h"
#include "model/random_weights.h"
#include "model/where_to_get.h"

namespace assay {
namespace {

std::filesystem::path folder_of(const std::filesystem::path& file) {
  return file.has_parent_path() ? file.parent_path() : ".";
}

Model from_files(const std::string& name, const std::filesystem::path& path, const ModelOptions& options) {
  const bool is_one_file = path.extension() == ".safetensors" && !is_folder(path);
  Checkpoint checkpoint = is_one_file       ? open_safetensors_checkpoint(path)
                          : is_folder(path) ? open_folder(path)
                                            : open_gguf_checkpoint(path);
  std::vector<std::string> said = std::move(checkpoint.notes);
  if (const std::string head = settle_tied_head(checkpoint); !head.empty()) said.push_back(head);
  Model model;
  model.name = name;
  model.origin = path.string().starts_with(name) ? Origin::path : Origin::cache;
  model.config = checkpoint.config;
  model.files = is_one_file ? folder_of(path) : path;
  model.checkpoint_files = checkpoint.files;
  model.weights = bind_weights(build_program(model.config, {}), std::move(checkpoint), options.checkpoint, model.notes);
  for (const std::string& sentence : said) {
    model.notes.push_back(sentence);
    if (options.say) options.say(fmt::format("{}: {}", path.string(), sentence));
  }
  return model;
}

Model open_bare_model(const std::string& name, const ModelOptions& options);

std::string known_names() {
  std::string names;
  for (const Preset& preset : presets()) names += fmt::format("{}{}", names.empty() ? "" : ", ", preset.name);
  return names;
}

Model random_model(const std::string& name, const ModelConfig& config, const ModelOptions& options) {
  Model model;
  model.name = options.sizes.empty() ? name : fmt::format("{}[{}]", name, words(options.sizes));
  model.origin = Origin::preset;
  model.config = config;
  model.weights = random_weights(build_program(model.config, {}), model.config, options.seed);
  return model;
}

/// Of the shape of a known model.
Model with_other_sizes(const std::string& name, const ModelOptions& options) {
  const auto local = find_local(name);
  if (local && is_folder(*local)) return random_model(name, sized_config(*local, options.sizes), options);
  ModelOptions as_it_is = options;
  as_it_is.sizes.clear();
  as_it_is.say = nullptr;
  return random_model(name, sized_config(open_bare_model(name, as_it_is).config, options.sizes), options);
}

Model open_bare_model(const std::string& name, const ModelOptions& options) {
  if (!options.config.empty())
    return random_model(options.config.string(), sized_config(options.config, options.sizes), options);
  if (!options.sizes.empty()) return with_other_sizes(name, options);
  if (const auto local = find_local(name)) return from_files(name, *local, options);
  if (const Preset* preset = find_preset(name)) return random_model(preset->name, preset->config, options);
  for (const PullableModel& pullable : pullable_models()) {
    if (name == pullable.name) fail_user("{}: is not in the cache; 'assay pull {}' fetches it", name, name);
  }
  fail_user("{}: is no path, no model in the cache and no preset ({}); {}", printable(name), known_names(),
            where_to_get(name));
}

}  // namespace

Model open_model(const std::string& name, const ModelOptions& options) {
  Model model = open_bare_model(name, options);
  if (options.lora) return with_fresh_lora(std::move(model), *options.lora, options.seed);
  return options.lora_from.empty() ? std::move(model) : with_lora_from(std::move(model), options.lora_from);
}

const char* name(Origin origin) {
  switch (origin) {
    case Origin::path:
      return "path";
    case Origin::cache:
      return "cache";
    case Origin::preset:
      return "preset";
  }
  return "?";
}

std::string weights_identity(const Model& model) {
  if (model.random_weights()) return model.weights.identity + model.adapters_identity;
  std::string hashes;
  for (const std::filesystem::path& file : model.checkpoint_files) hashes += sha256_file(file);
  hashes += model.adapters_identity;
  if (model.checkpoint_files.size() == 1 && model.adapters_identity.empty()) return hashes;
  return sha256_hex(std::as_bytes(std::span(hashes)));
}

}  // namespace assay
