#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

/// Token ids as `assay tokenize` prints them: {"ids": [..]}, [..], or numbers with white space between. Throws a user
/// error that begins with `name` for what is none of these, or is not a whole number from 0 to 2^31 - 1.
std::vector<std::int32_t> parse_ids(std::string_view text, const std::string& name);

}  // namespace assay
