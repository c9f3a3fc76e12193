#pragma once

#include <filesystem>

#include "results/document.h"

namespace assay {

/// A table of all peers: what each can be asked for, its packages, and whether its environment is there.
Document peers_document(const std::filesystem::path& root);

}  // namespace assay
