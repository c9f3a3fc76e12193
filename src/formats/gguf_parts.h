#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "formats/gguf.h"

namespace assay {

/// A model that was cut into several files: "m-00001-of-00003.gguf" and those beside it, in order. `path` is the first,
/// which holds the metadata (`split.count`; each part has its `split.no`, from 0). A file that is not cut is alone.
/// Throws a user error that names the file that is missing, or does not belong there.
std::vector<std::shared_ptr<Gguf>> open_gguf_parts(const std::filesystem::path& path);

}  // namespace assay
