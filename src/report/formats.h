#pragma once

#include <span>
#include <string>

#include "results/document.h"

namespace assay {

/// The document of results/document.h, indented, with a newline at the end.
std::string json_report(const Document& document);

}  // namespace assay
