#pragma once

#include <filesystem>
#include <vector>

#include "hardware/facts.h"

namespace assay {

/// What this machine offers for measuring energy, each found or not and why: RAPL domains (powercap), hwmon power and
/// energy sensors, batteries. A kind that is absent gives one row that says so. Readable means: it was read just now.
std::vector<PowerSource> find_power_sources(const std::filesystem::path& root);

}  // namespace assay
