#pragma once

#include <filesystem>
#include <string>

#include "measure/energy.h"
#include "measure/meters/external.h"

namespace assay {

/// Which meters are wanted.
struct MeterRequest {
  std::string name = "auto";  ///< "auto", "none", or a meter's name as in its facts, in any case.
  std::string command{};      ///< Of an external meter; empty: none.
  MeterUnit unit = MeterUnit::by_header;
  std::string url{};  ///< Of a power plug; empty: none.
  std::filesystem::path root = "/";
  MeteredWork work = MeteredWork::processor;
  std::string gpu_bus_id{};  ///< PCI bus id of the GPU that works; empty: the machine's first.
};

/// What sysfs offers under `root`, best first, each readable just now; what is there and cannot be read is a sentence
/// in `refusals`. RAPL: "RAPL" (packages and their memory), "RAPL-package" (without it, where it has a zone),
/// "RAPL-core", "RAPL-uncore", "RAPL-psys". hwmon: an energy counter or a
/// power sensor each, "hwmon-<chip>-<label>", the sockets of amd_energy summed. Batteries: while they discharge.
struct SystemMeters {
  std::vector<std::unique_ptr<EnergyMeter>> meters;
  std::vector<std::string> refusals;
};
SystemMeters find_rapl_meters(const std::filesystem::path& root);
SystemMeters find_system_meters(const std::filesystem::path& root, const MeterTime& time = real_meter_time());

/// The meter that was asked for, its update period measured, and every other one there is. `auto` takes the user's own
/// meter where one is given, else the first that reaches packages, platform or machine (for work on the GPU: GPU or
/// machine); a sensor of anything else is taken by name only, since another part's energy would be told as this one's.
///
/// Without a meter the status says why. Throws an error where a meter was asked for by name, command or address and
/// cannot be had, or does not reach what does the work.
EnergySource find_meters(const MeterRequest& request, const MeterTime& time = real_meter_time());

}  // namespace assay
