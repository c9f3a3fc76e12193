#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "hardware/facts.h"

namespace assay {

/// One energy counter of the kernel's powercap tree.
struct RaplZone {
  std::filesystem::path folder;
  std::string domain;                    ///< "package-0", "core", "dram", "psys".
  std::optional<std::int64_t> range_uj;  ///< Where the counter starts again at 0.
  std::filesystem::path counter() const { return folder / "energy_uj"; }
};
/// All of them, readable or not, by name; AMD's carry the name intel-rapl too.
std::vector<RaplZone> find_rapl_zones(const std::filesystem::path& root);

/// What this machine offers for measuring energy, each found or not and why: RAPL domains (powercap), hwmon power and
/// energy sensors, batteries. A kind that is absent gives one row that says so. Readable means: it was read just now.
std::vector<PowerSource> find_power_sources(const std::filesystem::path& root);

}  // namespace assay
