#include "hardware/power_sources.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include "hardware/system_files.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

/// A source by one attempt to read its file; `covers` is said when that works.
PowerSource try_source(const std::string& name, const fs::path& file, const std::string& covers) {
  const SmallFile content = read_small_file(file);
  PowerSource source{.name = name, .readable = false, .why = {}, .path = file.string()};
  if (content.error == EACCES || content.error == EPERM) {
    source.why = fmt::format("permission denied; run: sudo chmod a+r {}", file.string());
  } else if (content.error != 0) {
    source.why = fmt::format("{}: {}", file.string(), std::strerror(content.error));
  } else if (!parse_number(content.text)) {
    source.why = fmt::format("{}: holds no number", file.string());
  } else {
    source.readable = true;
    source.why = covers;
  }
  return source;
}

std::vector<PowerSource> find_rapl(const fs::path& root) {
  std::vector<PowerSource> found;
  for (const RaplZone& zone : find_rapl_zones(root)) {
    const std::string wraps =
        zone.range_uj ? fmt::format(", wraps at {:.0f} J", static_cast<double>(*zone.range_uj) * 1e-6) : "";
    found.push_back(
        try_source("rapl " + zone.domain, zone.counter(), fmt::format("energy counter of {}{}", zone.domain, wraps)));
  }
  return found;
}

std::vector<PowerSource> find_hwmon(const fs::path& root) {
  std::vector<PowerSource> found;
  for (const fs::path& chip : list_folder(root / "sys/class/hwmon")) {
    const std::string chip_name = read_text(chip / "name").value_or(chip.filename().string());
    for (const fs::path& sensor : list_folder(chip)) {
      const std::string file = sensor.filename().string();
      const bool energy = file.starts_with("energy") && file.ends_with("_input");
      const bool power = file.starts_with("power") && (file.ends_with("_input") || file.ends_with("_average"));
      if (!energy && !power) continue;
      const std::string label_file = file.substr(0, file.find('_')) + "_label";
      const std::string label = read_text(chip / label_file).value_or(file);
      const char* covers = energy ? "energy counter in microjoules" : "power in microwatts, to be integrated";
      found.push_back(try_source(fmt::format("hwmon {} {}", chip_name, label), sensor, covers));
    }
  }
  return found;
}

/// A battery tells the whole machine's power while it discharges, and nothing of it on mains.
PowerSource battery_source(const fs::path& supply) {
  std::error_code error;
  const bool has_power = fs::exists(supply / "power_now", error);
  const fs::path file = supply / (has_power ? "power_now" : "current_now");
  PowerSource source = try_source("battery " + supply.filename().string(), file, "power of the whole machine");
  const std::string status = read_text(supply / "status").value_or("Unknown");
  if (source.readable && status != "Discharging") {
    source.readable = false;
    source.why = fmt::format("status is {}; it tells the machine's power only while it discharges: unplug it", status);
  }
  return source;
}

std::vector<PowerSource> find_batteries(const fs::path& root) {
  std::vector<PowerSource> found;
  for (const fs::path& supply : list_folder(root / "sys/class/power_supply")) {
    if (read_text(supply / "type").value_or("") != "Battery") continue;
    if (read_text(supply / "scope").value_or("System") == "Device") continue;  // A mouse's battery, not the machine's.
    found.push_back(battery_source(supply));
  }
  return found;
}

void append_or_say(std::vector<PowerSource>& all, std::vector<PowerSource> found, const PowerSource& absent) {
  if (found.empty()) found.push_back(absent);
  all.insert(all.end(), found.begin(), found.end());
}

}  // namespace

std::vector<RaplZone> find_rapl_zones(const fs::path& root) {
  std::vector<RaplZone> zones;
  for (const fs::path& folder : list_folder(root / "sys/class/powercap")) {
    const std::string file = folder.filename().string();
    if (!file.starts_with("intel-rapl:")) continue;
    zones.push_back({folder, read_text(folder / "name").value_or(file), read_number(folder / "max_energy_range_uj")});
  }
  return zones;
}

std::vector<PowerSource> find_power_sources(const fs::path& root) {
  std::error_code error;
  const bool powercap = fs::is_directory(root / "sys/class/powercap", error);
  const char* no_rapl = powercap ? "no intel-rapl domain under /sys/class/powercap (module intel_rapl_msr not loaded, "
                                   "or the processor has none); try: sudo modprobe intel_rapl_msr"
                                 : "no /sys/class/powercap (virtual machines are not shown the counters)";
  std::vector<PowerSource> sources;
  append_or_say(sources, find_rapl(root), {.name = "rapl", .readable = false, .why = no_rapl, .path = {}});
  append_or_say(
      sources, find_hwmon(root),
      {.name = "hwmon", .readable = false, .why = "no power or energy sensor under /sys/class/hwmon", .path = {}});
  append_or_say(sources, find_batteries(root),
                {.name = "battery", .readable = false, .why = "no battery under /sys/class/power_supply", .path = {}});
  return sources;
}

}  // namespace assay
