#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <vector>

#include "measure/meters.h"

namespace assay {

/// A sensor of hwmon: its file, its chip and what its label calls it.
struct Sensor {
  std::filesystem::path file;
  std::string chip;
  std::string label;
  std::string suffix{};  ///< Where another chip has a sensor of this name: "-hwmon3".
  std::string name() const { return fmt::format("hwmon-{}-{}{}", chip, label, suffix); }
};
/// All `kind`N`ending` of all chips under `root`, by name: kind "energy", ending "_input".
std::vector<Sensor> sensors_of(const std::filesystem::path& root, const std::string& kind, const std::string& ending);
/// Gives those of one name on several chips (two GPUs) a suffix each.
void tell_apart(std::vector<Sensor>& sensors);
bool is_gpu_chip(const std::string& chip);

// Powers, integrated. What cannot be read becomes a refusal.
void find_power_sensors(const std::filesystem::path& root, const MeterTime& time, SystemMeters& found);
void find_batteries(const std::filesystem::path& root, const MeterTime& time, SystemMeters& found);

}  // namespace assay
