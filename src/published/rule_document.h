#pragma once

#include <string>

#include "base/json_fwd.h"

namespace assay {

/// Every rule for the terminal, for programs, and as the table of docs/findings.md.
std::string rules_text();
/// [{"id", "kind", "severity", "detects", "evidence", "remedy", "records", "tables"}].
OrderedJson rules_json();
std::string rules_markdown();

}  // namespace assay
