#pragma once

#include <string>

namespace assay {

/// The text with each tabular of LaTeX as a table between pipes, its lines where they were; other text as it is.
std::string tabulars_as_pipes(const std::string& text);

}  // namespace assay
