#include "hardware/topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>
#include <sstream>
#include <string>

#include "hardware/cgroup.h"
#include "hardware/system_files.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

std::int64_t parse_cache_size(const std::string& text) {
  const std::int64_t number = parse_number(text).value_or(0);
  if (text.ends_with('K')) return number << 10;
  if (text.ends_with('M')) return number << 20;
  return number;
}

/// Cores' worth of CPU time that one control group grants, if it sets a limit.
std::optional<double> core_limit(const fs::path& folder, int version) {
  if (version == 1) {
    const auto quota = read_number(folder / "cpu.cfs_quota_us");
    const auto period = read_number(folder / "cpu.cfs_period_us");
    if (!quota || !period || *quota <= 0 || *period <= 0) return std::nullopt;
    return static_cast<double>(*quota) / static_cast<double>(*period);
  }
  std::istringstream both(read_text(folder / "cpu.max").value_or("max"));
  double quota = 0;
  double period = 0;
  if (!(both >> quota >> period) || quota <= 0 || period <= 0) return std::nullopt;
  return quota / period;
}

std::optional<std::string> cpuinfo_field(const std::string& cpuinfo, int cpu, const std::string& key) {
  const std::string mark = fmt::format("processor\t: {}\n", cpu);
  const std::size_t begin = cpuinfo.find(mark);
  if (begin == std::string::npos) return std::nullopt;
  return find_field(std::string_view(cpuinfo).substr(begin, cpuinfo.find("\n\n", begin) - begin), key);
}

}  // namespace

std::vector<int> allowed_cpus(const fs::path& root) {
  const std::string status = read_text(root / "proc/self/status").value_or("");
  std::vector<int> cpus = parse_cpu_list(find_field(status, "Cpus_allowed_list").value_or(""));
  if (cpus.empty()) cpus.push_back(0);
  return cpus;
}

int usable_cores(const fs::path& root) {
  double cores = static_cast<double>(allowed_cpus(root).size());
  const CgroupFolders groups = cgroup_folders(root, "cpu");
  for (const fs::path& folder : groups.folders) {
    if (const auto limit = core_limit(folder, groups.version)) cores = std::min(cores, *limit);
  }
  return std::max(1, static_cast<int>(std::floor(cores + 1e-6)));
}

namespace {

fs::path cache_folder_of(const fs::path& root, int cpu) {
  return root / fmt::format("sys/devices/system/cpu/cpu{}/cache", cpu);
}

/// Distinct sets of processors that share that cache.
int count_instances(const fs::path& root, const std::vector<int>& cpus, const fs::path& index) {
  std::set<std::string> sharers;
  for (const int cpu : cpus) {
    if (const auto list = read_text(cache_folder_of(root, cpu) / index / "shared_cpu_list")) sharers.insert(*list);
  }
  return std::max(1, static_cast<int>(sharers.size()));
}

}  // namespace

std::vector<Cache> read_caches(const fs::path& root, const std::vector<int>& cpus) {
  std::vector<Cache> caches;
  for (const fs::path& index : list_folder(cache_folder_of(root, cpus.front()))) {
    if (!index.filename().string().starts_with("index")) continue;
    if (read_text(index / "type").value_or("Instruction") == "Instruction") continue;
    const std::size_t sharing = parse_cpu_list(read_text(index / "shared_cpu_list").value_or("")).size();
    caches.push_back({.level = static_cast<int>(read_number(index / "level").value_or(0)),
                      .bytes = parse_cache_size(read_text(index / "size").value_or("0")),
                      .shared_by_cores = std::max(1, static_cast<int>(sharing)),
                      .instances = count_instances(root, cpus, index.filename())});
  }
  std::sort(caches.begin(), caches.end(), [](const Cache& a, const Cache& b) { return a.level < b.level; });
  return caches;
}

std::optional<double> read_frequency_mhz(const fs::path& root, int cpu) {
  const auto khz = read_number(root / fmt::format("sys/devices/system/cpu/cpu{}/cpufreq/scaling_cur_freq", cpu));
  if (khz && *khz > 0) return static_cast<double>(*khz) * 1e-3;
  const auto mhz = cpuinfo_field(read_text(root / "proc/cpuinfo").value_or(""), cpu, "cpu MHz");
  if (!mhz) return std::nullopt;
  const double value = std::strtod(mhz->c_str(), nullptr);
  return value > 0 ? std::optional(value) : std::nullopt;
}

}  // namespace assay
