#pragma once

#include <string>
#include <string_view>

namespace assay {

// Models that no package carries.

/// Letters, digits, '-', '_' and '.', which is not in front.
bool is_repository_word(std::string_view text);
/// Whether a name is one of those under which others keep models: "ORGANISATION/MODEL", and no path ("./a/b", "/a/b").
bool is_repository_name(std::string_view name);
/// "as hf:Qwen/Qwen3-0.6B it is fetched from the hub, where it is published there".
std::string how_to_fetch(std::string_view name);

}  // namespace assay
