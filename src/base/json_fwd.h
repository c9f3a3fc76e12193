#pragma once

#include <nlohmann/json_fwd.hpp>

namespace assay {

// The names alone, for headers: the full type costs seconds of every file that includes it.
using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;

}  // namespace assay
