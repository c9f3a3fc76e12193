#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace assay {

// Models in the cache that huggingface_hub's tools fill: models--ORG--NAME/{blobs,refs,snapshots}. It is read here, and
// never written.

/// What "hf:ORG/NAME[@REVISION][:FILE]" says. Old models of the hub have a NAME alone.
struct HubName {
  std::string repository = {};    ///< "ORG/NAME".
  std::string revision = "main";  ///< A branch, a tag, "refs/pr/N" or a commit.
  std::string file = {};          ///< A file of the repository or what a .gguf is called by ("Q4_K_M"); or empty.
};

bool is_hub_name(std::string_view name);
/// Throws a user error for a name that is not of that form, and for data sets.
HubName parse_hub_name(std::string_view name);

/// $HF_HUB_CACHE, else $HF_HOME/hub, else huggingface/hub below $XDG_CACHE_HOME or ~/.cache. Throws a user error where
/// none of these variables is set.
std::filesystem::path hub_cache_folder();

/// The folder of the snapshot, or the file of it that the name means: a .gguf where the name says its quantisation, or
/// where it is the snapshot's only model. Throws a user error that names the part which is not in the cache.
std::filesystem::path find_in_hub_cache(std::string_view name);

}  // namespace assay
