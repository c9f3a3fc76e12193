#pragma once

#include <string>
#include <vector>

#include "studies/profile/run.h"

namespace assay {

/// Everything that one study tells in tables; `prefix` begins their keys.
std::vector<Table> profile_tables(const ProfileStudy& study, const std::string& prefix);
/// Its time by phase, layer and operation.
Figure flame_of(const ProfileStudy& study, const std::string& key);
/// What was measured beside it, and how.
Table profile_methods(const ProfileStudy& study);

}  // namespace assay
