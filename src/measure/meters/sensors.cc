#include "measure/meters/sensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/error.h"
#include "hardware/system_files.h"
#include "measure/meters/power_meter.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

/// Where a sensor does not say how often it is renewed and does not change while it is watched.
constexpr double usual_power_period_s = 1;

double read_uw_as_watts(const fs::path& file) {
  const auto uw = read_number(file);
  if (!uw) fail_lacking("{}: the power sensor stopped answering", file.string());
  return static_cast<double>(*uw) * 1e-6;
}

/// What watching a power for a while shows.
struct PowerHabit {
  std::optional<double> period_s;  ///< Median time between changes; absent where it changed less than twice.
  std::optional<double> step_w;    ///< Smallest change.
};

PowerHabit watch_power(const ReadWatts& read_watts, const MeterTime& time) {
  constexpr double most_s = 1;
  constexpr double between_looks_s = 2e-3;
  constexpr std::size_t enough = 8;
  const double begin_s = time.now_s();
  double last_w = read_watts();
  double changed_s = 0;
  std::vector<double> periods_s;
  PowerHabit habit;
  while (periods_s.size() < enough && time.now_s() - begin_s < most_s) {
    time.wait_s(between_looks_s);
    const double now_w = read_watts();
    if (now_w == last_w) continue;
    habit.step_w = std::min(habit.step_w.value_or(1e9), std::abs(now_w - last_w));
    if (changed_s > 0) periods_s.push_back(time.now_s() - changed_s);
    changed_s = time.now_s();
    last_w = now_w;
  }
  if (periods_s.empty()) return habit;
  std::sort(periods_s.begin(), periods_s.end());
  habit.period_s = periods_s[periods_s.size() / 2];
  return habit;
}

/// A power as a meter, its period as told or as watched.
void add_power_meter(const ReadWatts& read_watts, const MeterTime& time, EnergyMeterFacts facts, SystemMeters& found) {
  try {
    const PowerHabit habit = watch_power(read_watts, time);
    if (facts.update_period_s <= 0) facts.update_period_s = habit.period_s.value_or(usual_power_period_s);
    facts.power_step_w = habit.step_w.value_or(1e-6);
    found.meters.push_back(make_power_meter({.read_watts = read_watts, .time = time}, std::move(facts)));
  } catch (const Error& e) {
    found.refusals.emplace_back(e.what());
  }
}

/// hwmon tells intervals in ms (kernel documentation, hwmon/sysfs-interface).
double told_period_s(const Sensor& sensor) {
  const std::string stem = sensor.file.filename().string().substr(0, sensor.file.filename().string().find('_'));
  const auto average_ms = read_number(sensor.file.parent_path() / (stem + "_average_interval"));
  const auto update_ms = read_number(sensor.file.parent_path() / "update_interval");
  return static_cast<double>(average_ms.value_or(update_ms.value_or(0))) * 1e-3;
}

}  // namespace

bool is_gpu_chip(const std::string& chip) {
  return chip == "amdgpu" || chip == "i915" || chip == "xe" || chip == "nouveau" || chip == "radeon";
}

std::vector<Sensor> sensors_of(const fs::path& root, const std::string& kind, const std::string& ending) {
  std::vector<Sensor> sensors;
  for (const fs::path& chip : list_folder(root / "sys/class/hwmon")) {
    for (const fs::path& file : list_folder(chip)) {
      const std::string name = file.filename().string();
      if (!name.starts_with(kind) || !name.ends_with(ending)) continue;
      const std::string stem = name.substr(0, name.find('_'));
      sensors.push_back({file, read_text(chip / "name").value_or(chip.filename().string()),
                         read_text(chip / (stem + "_label")).value_or(stem)});
    }
  }
  return sensors;
}

void tell_apart(std::vector<Sensor>& sensors) {
  std::map<std::string, std::set<fs::path>> chips;
  for (const Sensor& sensor : sensors) chips[sensor.name()].insert(sensor.file.parent_path());
  for (Sensor& sensor : sensors) {
    if (chips[sensor.name()].size() > 1) sensor.suffix = "-" + sensor.file.parent_path().filename().string();
  }
}

void find_power_sensors(const fs::path& root, const MeterTime& time, SystemMeters& found) {
  std::vector<Sensor> sensors = sensors_of(root, "power", "_input");
  for (Sensor& average : sensors_of(root, "power", "_average")) {
    const bool known = std::any_of(sensors.begin(), sensors.end(), [&](const Sensor& one) {
      return one.name() == average.name() && one.file.parent_path() == average.file.parent_path();
    });
    if (!known) sensors.push_back(std::move(average));
  }
  tell_apart(sensors);
  for (const Sensor& sensor : sensors) {
    EnergyMeterFacts facts{.name = sensor.name(), .scope = sensor.label, .update_period_s = told_period_s(sensor)};
    facts.source = sensor.file.string();
    facts.unit = "uW, integrated";
    facts.reach = is_gpu_chip(sensor.chip) ? EnergyReach::gpu : EnergyReach::other;
    add_power_meter([file = sensor.file] { return read_uw_as_watts(file); }, time, std::move(facts), found);
  }
}

namespace {

/// Microwatts, or microamperes times microvolts. Throws where it does not discharge: the mains then give the rest.
double battery_watts(const fs::path& supply) {
  const std::string status = read_text(supply / "status").value_or("Unknown");
  if (status != "Discharging")
    fail_lacking("{}: status is {}; it tells the machine's power only while it discharges: unplug it", supply.string(),
                 status);
  if (const auto uw = read_number(supply / "power_now")) return std::abs(static_cast<double>(*uw)) * 1e-6;
  const auto ua = read_number(supply / "current_now");
  const auto uv = read_number(supply / "voltage_now");
  if (!ua || !uv) fail_lacking("{}: tells neither power nor current and voltage", supply.string());
  return std::abs(static_cast<double>(*ua)) * 1e-6 * static_cast<double>(*uv) * 1e-6;
}

}  // namespace

/// A machine with two batteries draws from both.
void find_batteries(const fs::path& root, const MeterTime& time, SystemMeters& found) {
  std::vector<fs::path> supplies;
  for (const fs::path& supply : list_folder(root / "sys/class/power_supply")) {
    const bool battery = read_text(supply / "type").value_or("") == "Battery";
    if (battery && read_text(supply / "scope").value_or("System") != "Device") supplies.push_back(supply);
  }
  for (const fs::path& supply : supplies) {
    EnergyMeterFacts facts{.name = "battery-" + supply.filename().string(), .scope = "the whole machine"};
    facts.source = supply.string();
    facts.unit = read_number(supply / "power_now") ? "uW, integrated" : "uA x uV, integrated";
    facts.reach = supplies.size() == 1 ? EnergyReach::machine : EnergyReach::other;
    add_power_meter([supply] { return battery_watts(supply); }, time, std::move(facts), found);
  }
}

}  // namespace assay
