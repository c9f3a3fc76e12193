#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/json_fwd.h"

namespace assay {

/// Parses one JSON document. Throws a user error naming `name` for malformed text, invalid UTF-8, duplicate keys in an
/// object, trailing data, or nesting deeper than 64.
Json parse_json(std::string_view text, const std::string& name);

/// null where there is no number.
OrderedJson or_null(const std::optional<double>& value);
/// null for infinity and NaN, which JSON does not have.
OrderedJson finite_or_null(double value);

}  // namespace assay
