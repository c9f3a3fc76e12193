#pragma once

#include <string>

namespace assay {

/// "3%" or "0.03" as a share. Throws a user error that names the option.
double share_of(const std::string& text, const char* option);

}  // namespace assay
