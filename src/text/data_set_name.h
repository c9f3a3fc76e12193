#pragma once

#include <filesystem>
#include <string>

namespace assay {

// "hf:datasets/ORG/NAME[@REVISION][:FILE]" names a file of a data set in the cache of the hub's tools
// (hub/hub_cache.h), where theirs lie under datasets--ORG--NAME. Any other name of data is a path.

/// The file that the name means: FILE, or the only one of the snapshot whose format is read; a path is itself. Throws a
/// user error that names the data set and the part which is not there, or the files it may be, and for models of the
/// hub.
std::filesystem::path find_data(const std::filesystem::path& named);

/// What results call it: "org/set:train.jsonl", of a path the last word.
std::string shown_name(const std::filesystem::path& named);

}  // namespace assay
