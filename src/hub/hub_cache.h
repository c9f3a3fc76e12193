#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "hub/hub_name.h"

namespace assay {

// Models and data sets in the cache that huggingface_hub's tools share: models--ORG--NAME/{blobs,refs,snapshots}, and
// datasets--ORG--NAME.

/// $HF_HUB_CACHE, else $HF_HOME/hub, else huggingface/hub below $XDG_CACHE_HOME or ~/.cache. Throws a user error where
/// none of these variables is set.
std::filesystem::path hub_cache_folder();
std::filesystem::path hub_repository_folder(const HubName& name);

/// What the name means in the cache: the folder of the snapshot, or the file of it; a .gguf where the name says its
/// quantisation, or where it is the snapshot's only model; of a data set the file that data_file picks.
struct HubLook {
  std::filesystem::path path = {};
  std::string lacks = {};  ///< Where there is none: the part which is not there.
};
/// Throws a user error where the name is of no form, or may be any of several models. Of a tokenizer alone, the folder
/// or the .gguf that holds it.
HubLook look_in_hub_cache(std::string_view name, HubNeed need = HubNeed::model);

/// The same, fetched from the hub where the cache lacks it and HF_HUB_OFFLINE does not forbid it. Throws what
/// fetch_from_hub throws, and a user error that names the part which is not there.
std::filesystem::path find_in_hub(std::string_view name, HubNeed need = HubNeed::model);

}  // namespace assay
