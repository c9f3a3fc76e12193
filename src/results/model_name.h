#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

namespace assay {

/// What people call a model that was asked for by a path: the last folder or file of it, of a snapshot in a cache of
/// others ("models--ORG--NAME/snapshots/HASH") its name; any other name as it is. Of the text alone: nothing is looked
/// up.
std::string shown_model_name(std::string_view asked);

/// The same of several, each with as many folders of its path in front as tell it from the others; by what was asked.
std::map<std::string, std::string> distinct_model_names(std::span<const std::string> asked);

}  // namespace assay
