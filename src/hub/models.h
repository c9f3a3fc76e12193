#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hub/hub_name.h"

namespace assay {

// A name that begins with "hf:" means a model in the cache of the hub's tools (hub_cache.h). Every other model's name
// means, everywhere and in this order: a path (an existing folder, .gguf or .safetensors file), a model
// in the cache, a preset. This room knows the first two; presets belong to the models' own room.

/// Where pulled models lie: cache_folder()/models, one folder a name. Not created. Throws where there is no cache.
std::filesystem::path models_folder();

/// The folder or file that the name means, as a path or in the cache (a folder that holds a .gguf file and no
/// config.json stands for that file); nothing where the name may still be a preset. Throws a user error for what can
/// only be a path (it has a '/' or ends in .gguf) and is not there, or is there and is neither of the two. Of a name of
/// the hub what is needed is fetched where the cache lacks it.
std::optional<std::filesystem::path> find_local(std::string_view name, HubNeed need = HubNeed::model);

struct CachedModel {
  std::string name;
  std::filesystem::path path;  ///< What find_local gives.
  std::uint64_t bytes = 0;     ///< Of all its files.
};
/// Sorted by name; empty where there is no cache.
std::vector<CachedModel> list_cached();

}  // namespace assay
