#pragma once

#include <string>
#include <string_view>

namespace assay {

// Models that no package carries, whose files the user must fetch.

/// Whether a name is one of those under which others keep models: "ORGANISATION/MODEL", and no path ("./a/b", "/a/b").
bool is_repository_name(std::string_view name);
/// "where others publish it, `hf download Qwen/Qwen3-0.6B --local-dir Qwen3-0.6B` gives a folder to name".
std::string how_to_fetch(std::string_view name);

}  // namespace assay
