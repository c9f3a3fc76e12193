#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "measure/energy.h"

namespace assay {

/// One counter of microjoules in a file of sysfs.
struct CounterFile {
  std::filesystem::path path;
  std::string part;                ///< Of the machine: "package-0".
  std::optional<double> range_uj;  ///< Where it starts again at 0; absent: it does not.
  std::int64_t first_uj = 0;       ///< Read when it was found.
};

/// The sum of such counters. A counter that falls has wrapped where it has a range and the step so implied is at most
/// half of it; else it stepped back, and read_j throws a lacking error that names the file with both figures, as it
/// does where a file vanishes.
std::unique_ptr<EnergyMeter> make_counter_meter(std::vector<CounterFile> counters, EnergyMeterFacts facts);

}  // namespace assay
