#pragma once

#include <string>

namespace assay {

/// "3%" or "0.03" as a share. Throws a user error that names the option.
double share_of(const std::string& text, const char* option);
/// The same of a difference that is let pass: 2 means 2 % to whoever writes it, not 200 %, and is refused.
double tolerance_of(const std::string& text, const char* option);

}  // namespace assay
