#include "measure/energy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "hardware/power_sources.h"
#include "hardware/system_files.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

/// One counter of the kernel's powercap tree, unwrapped.
struct Zone {
  fs::path counter;  ///< energy_uj
  std::string name;
  double range_uj = 0;  ///< The counter starts again at 0 beyond this.
  std::int64_t last_uj = 0;
  double sum_uj = 0;
};

/// RAPL as Linux shows it: counters in microjoules that the processor renews about every millisecond (Intel SDM vol.
/// 3B, 15.10). Typical step: 61 uJ (2^-14 J); the file does not say, so the step of the file, 1 uJ, would flatter it.
class Rapl : public EnergyMeter {
 public:
  Rapl(std::vector<Zone> zones, std::optional<double> limit_w) : zones_(std::move(zones)) {
    std::vector<std::string> names;
    for (const Zone& zone : zones_) names.push_back(zone.name);
    facts_ = {.name = "RAPL",
              .scope = fmt::format("{}", fmt::join(names, ", ")),
              .resolution_j = 0x1p-14 * static_cast<double>(zones_.size()),
              .update_period_s = 1e-3,
              .limit_w = limit_w};
  }

  const EnergyMeterFacts& facts() const override { return facts_; }

  double read_j() override {
    double sum_uj = 0;
    for (Zone& zone : zones_) sum_uj += read_uj(zone);
    return sum_uj * 1e-6;
  }

 private:
  static double read_uj(Zone& zone) {
    const std::optional<std::int64_t> now_uj = read_number(zone.counter);
    if (!now_uj) fail_lacking("{}: the energy counter stopped answering", zone.counter.string());
    const auto step_uj = static_cast<double>(*now_uj - zone.last_uj);
    zone.sum_uj += step_uj >= 0 ? step_uj : step_uj + zone.range_uj;
    zone.last_uj = *now_uj;
    return zone.sum_uj;
  }

  std::vector<Zone> zones_;
  EnergyMeterFacts facts_;
};

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
std::optional<double> limit_w(const std::vector<Zone>& zones) {
  double sum_w = 0;
  for (const Zone& zone : zones) {
    const auto of_zone_w = package_limit_w(zone.counter.parent_path());
    if (!of_zone_w) return std::nullopt;
    sum_w += *of_zone_w;
  }
  return sum_w;
}

bool is_counted(const std::string& zone_name) {
  return zone_name.starts_with("package") || zone_name == "dram";
}

}  // namespace

EnergySource find_energy_meter(const fs::path& root) {
  const fs::path folder = root / "sys/class/powercap";
  std::error_code error;
  if (!fs::is_directory(folder, error)) return {nullptr, fmt::format("no meter: {} is absent", folder.string())};
  std::vector<Zone> zones;
  std::string refusal = fmt::format("no meter: {} names no processor package", folder.string());
  for (const RaplZone& found : find_rapl_zones(root)) {
    if (!is_counted(found.domain)) continue;
    const auto now_uj = read_number(found.counter());
    if (now_uj && found.range_uj) {
      zones.push_back({found.counter(), found.domain, static_cast<double>(*found.range_uj), *now_uj, 0});
    } else {
      refusal = fmt::format("no meter: {} may not be read by this user", found.counter().string());
    }
  }
  if (zones.empty()) return {nullptr, refusal};
  const std::optional<double> limit = limit_w(zones);
  auto meter = std::make_unique<Rapl>(std::move(zones), limit);
  std::string status = fmt::format("{}: {}", meter->facts().name, meter->facts().scope);
  return {std::move(meter), std::move(status)};
}

double shortest_window_s(const EnergyMeterFacts& meter, double power_w) {
  const double for_steps_s = power_w > 0 ? meter.resolution_j / power_w : 0;
  return fewest_resolutions * std::max(meter.update_period_s, for_steps_s);
}

double sleep_s(double seconds) {
  const double begin_s = now_s();
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  return now_s() - begin_s;
}

double idle_power_w(EnergyMeter& meter, double seconds, const std::function<double(double)>& wait) {
  const double begin_j = meter.read_j();
  const double waited_s = wait(seconds);
  return (meter.read_j() - begin_j) / waited_s;
}

void EnergySum::add(const EnergyMeterFacts& meter, double window_j, double window_s) {
  joules += window_j;
  seconds += window_s;
  ++windows;
  const bool is_short =
      window_j < fewest_resolutions * meter.resolution_j || window_s < fewest_resolutions * meter.update_period_s;
  if (is_short) ++short_windows;
}

}  // namespace assay
