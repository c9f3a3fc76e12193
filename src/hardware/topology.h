#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "hardware/facts.h"

namespace assay {

/// The processors that this process may run on (its affinity mask), by number; never empty.
std::vector<int> allowed_cpus(const std::filesystem::path& root);
/// How many of them it may use at once: their number, or less where a cgroup (v1 or v2) limits CPU time; at least 1.
int usable_cores(const std::filesystem::path& root);
/// Data and unified caches of the first of these processors, lowest level first, and how many instances of each the
/// processors have; empty where sysfs does not tell.
std::vector<Cache> read_caches(const std::filesystem::path& root, const std::vector<int>& cpus);
/// Present frequency of that processor, from cpufreq, else /proc/cpuinfo (in virtual machines often the nominal one).
std::optional<double> read_frequency_mhz(const std::filesystem::path& root, int cpu);

}  // namespace assay
