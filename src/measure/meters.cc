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

bool is_for_auto(const EnergyMeterFacts& facts, MeteredWork work) {
  const bool users_own = facts.name == "command" || facts.name == "url";
  const bool is_part = facts.reach == EnergyReach::other || facts.reach == EnergyReach::core;
  const bool is_elsewhere = facts.reach == EnergyReach::gpu && work != MeteredWork::gpu;
  return users_own || (!is_part && !is_elsewhere && may_tell(facts.reach, work));
}

std::string parts_of(MeteredWork work) {
  return work == MeteredWork::gpu ? "GPU or machine" : "packages, platform or machine";
}

std::string refusal(const fs::path& root, const SystemMeters& system) {
  if (!system.refusals.empty()) return system.refusals.front();
  const fs::path folder = root / "sys/class/powercap";
  std::error_code error;
  if (!fs::is_directory(folder, error)) return fmt::format("{} is absent", folder.string());
  return fmt::format("{} names no processor package", folder.string());
}

EnergySource source_of(std::unique_ptr<EnergyMeter> meter, Meters others) {
  std::string words = fmt::format("{}: {}", meter->facts().name, meter->facts().scope);
  return {std::move(meter), std::move(words), std::move(others)};
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
    for (auto& meter : make_nvml_meters(*nvml, request.gpu_bus_id, time)) all.meters.push_back(std::move(meter));
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
  const std::string wanted = lower(request.name);
  const bool has_own = !request.command.empty() || !request.url.empty();
  if (wanted == "none" && has_own) fail_user("--meter none: but --meter-command or --meter-url names one; drop either");
  if (wanted == "none") return {nullptr, "none was asked for"};
  SystemMeters all = find_all(request, time);
  const bool automatic = wanted == "auto";
  const auto chosen = std::find_if(all.meters.begin(), all.meters.end(), [&](const auto& meter) {
    return automatic ? is_for_auto(meter->facts(), request.work) : lower(meter->facts().name) == wanted;
  });
  if (chosen == all.meters.end()) {
    if (!automatic) fail_unknown(request, all);
    if (all.meters.empty()) return {nullptr, refusal(request.root, all)};
    return {nullptr, fmt::format(" of {}; other meters here: {}", parts_of(request.work), names_of(all.meters)),
            std::move(all.meters)};
  }
  if (!may_tell((*chosen)->facts().reach, request.work)) {
    fail_user("--meter {}: it reads the {}, and what runs on another device is not in it", request.name,
              name((*chosen)->facts().reach));
  }
  std::unique_ptr<EnergyMeter> meter = std::move(*chosen);
  all.meters.erase(chosen);
  return source_of(std::move(meter), std::move(all.meters));
}

}  // namespace assay
