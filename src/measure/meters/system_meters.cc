#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>

#include "base/error.h"
#include "hardware/power_sources.h"
#include "hardware/system_files.h"
#include "measure/meters.h"
#include "measure/meters/counter_meter.h"
#include "measure/meters/sensors.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

/// 2^-14 J: Intel SDM vol. 3B, 15.10. The file's own step, 1 uJ, would flatter it.
constexpr double rapl_step_j = 0x1p-14;
constexpr double rapl_period_s = 1e-3;
constexpr double hwmon_step_j = 1e-6;
/// Of a counter of hwmon until it has been measured: amd_energy's.
constexpr double hwmon_period_s = 1e-3;

/// The highest of a package's constraints (long and short term), watts.
std::optional<double> package_limit_w(const fs::path& zone) {
  std::optional<double> highest_uw;
  for (const char* constraint : {"constraint_0", "constraint_1", "constraint_2"}) {
    const auto limit_uw = read_number(zone / (std::string(constraint) + "_power_limit_uw"));
    if (limit_uw && *limit_uw > 0) highest_uw = std::max(highest_uw.value_or(0), static_cast<double>(*limit_uw));
  }
  if (!highest_uw) return std::nullopt;
  return *highest_uw * 1e-6;
}

/// Of all counted zones; absent where one of them says none.
std::optional<double> limit_w(const std::vector<CounterFile>& counters) {
  double sum_w = 0;
  for (const CounterFile& counter : counters) {
    const auto of_zone_w = package_limit_w(counter.path.parent_path());
    if (!of_zone_w) return std::nullopt;
    sum_w += *of_zone_w;
  }
  return sum_w;
}

std::string counted_parts(const std::vector<CounterFile>& counters) {
  std::vector<std::string> parts;
  parts.reserve(counters.size());
  for (const CounterFile& counter : counters) parts.push_back(counter.part);
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string files_of(const std::vector<CounterFile>& counters) {
  const std::string first = counters.front().path.string();
  return counters.size() == 1 ? first : fmt::format("{} and {} more", first, counters.size() - 1);
}

struct CounterKind {
  std::string name;
  EnergyReach reach;
  double step_j;
  double period_s;
};

std::unique_ptr<EnergyMeter> counters_as_meter(const CounterKind& kind, std::vector<CounterFile> counters) {
  EnergyMeterFacts facts{.name = kind.name,
                         .scope = counted_parts(counters),
                         .resolution_j = kind.step_j * static_cast<double>(counters.size()),
                         .update_period_s = kind.period_s};
  facts.source = files_of(counters);
  facts.unit = "uJ";
  facts.reach = kind.reach;
  if (kind.name == "RAPL") facts.limit_w = limit_w(counters);
  return make_counter_meter(std::move(counters), std::move(facts));
}

/// Which meter of RAPL a zone belongs to. "core" and "uncore" zones lie in packages; what else there may be is left
/// out.
std::string rapl_meter_of(const std::string& domain) {
  if (domain.starts_with("package") || domain == "dram") return "RAPL";
  if (domain == "core" || domain == "uncore") return "RAPL-" + domain;
  return domain == "psys" ? "RAPL-psys" : "";
}

EnergyReach rapl_reach(const std::string& meter) {
  if (meter == "RAPL") return EnergyReach::processor;
  if (meter == "RAPL-package") return EnergyReach::package;
  return meter == "RAPL-psys" ? EnergyReach::platform : EnergyReach::core;
}

void find_rapl(const fs::path& root, SystemMeters& found) {
  std::map<std::string, std::vector<CounterFile>> meters;
  for (const RaplZone& zone : find_rapl_zones(root)) {
    const std::string meter = rapl_meter_of(zone.domain);
    if (meter.empty()) continue;
    const SmallFile file = read_small_file(zone.counter());
    const auto now_uj = parse_number(file.text);
    if (file.error == EACCES || file.error == EPERM) {
      found.refusals.push_back(fmt::format("{} may not be read by this user; run: sudo chmod a+r {}",
                                           zone.counter().string(), zone.counter().string()));
    } else if (file.error != 0) {
      found.refusals.push_back(
          fmt::format("{} may not be read: {}", zone.counter().string(), std::strerror(file.error)));
    } else if (!now_uj || !zone.range_uj) {
      found.refusals.push_back(fmt::format("{}: no counter with a range", zone.counter().string()));
    } else {
      meters[meter].push_back({zone.counter(), zone.domain, static_cast<double>(*zone.range_uj), *now_uj});
    }
  }
  // Packages with their memory hide a part that used more than its package: held against the packages alone it shows.
  std::vector<CounterFile> packages = meters["RAPL"];
  std::erase_if(packages, [](const CounterFile& counter) { return counter.part == "dram"; });
  if (packages.size() < meters["RAPL"].size() && !packages.empty()) meters["RAPL-package"] = std::move(packages);
  std::erase_if(meters, [](const auto& meter) { return meter.second.empty(); });
  for (auto& [name, counters] : meters) {  // "RAPL" sorts first.
    found.meters.push_back(
        counters_as_meter({name, rapl_reach(name), rapl_step_j, rapl_period_s}, std::move(counters)));
  }
}

/// amd_energy counts each socket (Esocket0) and each core (Ecore000); the sockets are one meter, the cores another.
CounterKind energy_kind(const Sensor& sensor) {
  const bool amd = sensor.chip == "amd_energy";
  if (amd && sensor.label.starts_with("Esocket")) return {"hwmon-amd_energy", EnergyReach::package, 0, 0};
  if (amd) return {"hwmon-amd_energy-cores", EnergyReach::core, 0, 0};
  return {sensor.name(), is_gpu_chip(sensor.chip) ? EnergyReach::gpu : EnergyReach::other, 0, 0};
}

void find_energy_sensors(const fs::path& root, SystemMeters& found) {
  std::map<std::string, std::pair<CounterKind, std::vector<CounterFile>>> meters;
  std::vector<Sensor> sensors = sensors_of(root, "energy", "_input");
  tell_apart(sensors);
  for (const Sensor& sensor : sensors) {
    const auto now_uj = read_number(sensor.file);
    if (!now_uj) {
      found.refusals.push_back(fmt::format("{} cannot be read", sensor.file.string()));
      continue;
    }
    CounterKind kind = energy_kind(sensor);
    kind.step_j = hwmon_step_j;
    kind.period_s = hwmon_period_s;
    auto& [known, counters] = meters.try_emplace(kind.name, kind, std::vector<CounterFile>{}).first->second;
    counters.push_back({sensor.file, sensor.label, std::nullopt, *now_uj});
  }
  for (auto& [name, meter] : meters) found.meters.push_back(counters_as_meter(meter.first, std::move(meter.second)));
}

}  // namespace

SystemMeters find_rapl_meters(const fs::path& root) {
  SystemMeters found;
  find_rapl(root, found);
  return found;
}

SystemMeters find_system_meters(const fs::path& root, const MeterTime& time) {
  SystemMeters found = find_rapl_meters(root);
  find_energy_sensors(root, found);
  find_batteries(root, time, found);
  find_power_sensors(root, time, found);
  return found;
}

}  // namespace assay
