#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/json_fwd.h"

namespace assay {

/// Parses one JSON document. Throws a user error naming `name` for malformed text, invalid UTF-8, duplicate keys in an
/// object, trailing data, or nesting deeper than 64.
Json parse_json(std::string_view text, const std::string& name);

}  // namespace assay
