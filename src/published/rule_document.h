#pragma once

#include <string>

#include "base/json_fwd.h"

namespace assay {

/// Every rule for the terminal, and for programs.
std::string rules_text();
/// [{"id", "kind", "severity", "detects", "evidence", "remedy", "records", "tables"}].
OrderedJson rules_json();
/// The list in docs/findings.md: what grades come from in words, findings by name.
std::string rules_of_the_page();

}  // namespace assay
