#include "measure/meters.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "base/error.h"
#include "measure/meters/nvml.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
using Meters = std::vector<std::unique_ptr<EnergyMeter>>;

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

std::string names_of(const Meters& meters) {
  std::vector<std::string> names;
  for (const auto& meter : meters) names.push_back(meter->facts().name);
  return fmt::format("{}", fmt::join(names, ", "));
}

bool is_for_auto(const EnergyMeterFacts& facts) {
  const bool users_own = facts.name == "command" || facts.name == "url";
  return users_own || facts.reach == EnergyReach::processor || facts.reach == EnergyReach::package ||
         facts.reach == EnergyReach::platform || facts.reach == EnergyReach::machine;
}

std::string refusal(const fs::path& root, const SystemMeters& system) {
  if (!system.refusals.empty()) return "no meter: " + system.refusals.front();
  const fs::path folder = root / "sys/class/powercap";
  std::error_code error;
  if (!fs::is_directory(folder, error)) return fmt::format("no meter: {} is absent", folder.string());
  return fmt::format("no meter: {} names no processor package", folder.string());
}

EnergySource source_of(std::unique_ptr<EnergyMeter> meter, Meters others) {
  std::string status = fmt::format("{}: {}", meter->facts().name, meter->facts().scope);
  return {std::move(meter), std::move(status), std::move(others)};
}

/// Measures each one's update period; those that stand still go, and say so.
void settle(SystemMeters& system, const MeterTime& time) {
  std::erase_if(system.meters, [&](const std::unique_ptr<EnergyMeter>& meter) {
    try {
      measure_update_period(*meter, time);
      return false;
    } catch (const Error& e) {
      system.refusals.emplace_back(e.what());
      return true;
    }
  });
}

/// The user's own before the system's.
SystemMeters find_all(const MeterRequest& request, const MeterTime& time) {
  SystemMeters all = find_system_meters(request.root, time);
  if (const auto nvml = request.root == "/" ? load_nvml() : std::nullopt) {
    for (auto& meter : make_nvml_meters(*nvml, 0, time)) all.meters.push_back(std::move(meter));
  }
  settle(all, time);
  if (!request.url.empty()) all.meters.insert(all.meters.begin(), make_http_meter(request.url));
  if (!request.command.empty())
    all.meters.insert(all.meters.begin(), make_command_meter(request.command, request.unit));
  return all;
}

[[noreturn]] void fail_unknown(const MeterRequest& request, const SystemMeters& all) {
  std::string why = all.meters.empty() ? "there is none here" : names_of(all.meters) + " are here";
  for (const std::string& sentence : all.refusals) why += "; " + sentence;
  fail_lacking("--meter {}: no such meter; {}", request.name, why);
}

}  // namespace

EnergySource find_energy_meter(const fs::path& root) {
  SystemMeters system = find_rapl_meters(root);
  if (system.meters.empty() || system.meters.front()->facts().name != "RAPL") return {nullptr, refusal(root, system)};
  return source_of(std::move(system.meters.front()), {});
}

EnergySource find_meters(const MeterRequest& request, const MeterTime& time) {
  if (request.name == "none") return {nullptr, "no meter: none was asked for"};
  SystemMeters all = find_all(request, time);
  const bool automatic = request.name == "auto";
  const auto chosen = std::find_if(all.meters.begin(), all.meters.end(), [&](const auto& meter) {
    return automatic ? is_for_auto(meter->facts()) : lower(meter->facts().name) == lower(request.name);
  });
  if (chosen == all.meters.end()) {
    if (!automatic) fail_unknown(request, all);
    if (all.meters.empty()) return {nullptr, refusal(request.root, all)};
    return {nullptr,
            fmt::format("no meter of packages, platform or machine; --meter can name: {}", names_of(all.meters)),
            std::move(all.meters)};
  }
  std::unique_ptr<EnergyMeter> meter = std::move(*chosen);
  all.meters.erase(chosen);
  return source_of(std::move(meter), std::move(all.meters));
}

}  // namespace assay
