#pragma once

#include <filesystem>
#include <string>

namespace assay {

// "hf:datasets/ORG/NAME[@REVISION][:FILE]" names a file of a data set of the hub (hub/hub_cache.h). Any other name of
// data is a path.

/// The file that the name means: FILE, or the only one in a format that is read; fetched where the hub's cache lacks
/// it. A path is itself. Throws what find_in_hub throws, and a user error for models of the hub.
std::filesystem::path find_data(const std::filesystem::path& named);

/// What results call it: "org/set:train.jsonl", of a path the last word.
std::string shown_name(const std::filesystem::path& named);

}  // namespace assay
