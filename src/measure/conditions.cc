#include "measure/conditions.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <vector>

#include "base/clock.h"
#include "hardware/system_files.h"
#include "hardware/topology.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

/// A line of /proc/stat behind its name: user nice system idle iowait irq softirq steal guest guest_nice, in ticks; the
/// guest times are part of user and nice already (proc(5)).
void add_stat_line(const std::string& figures, Counters& counters) {
  std::istringstream text(figures);
  std::array<double, 8> ticks{};
  for (double& value : ticks) text >> value;
  const double tick_s = 1.0 / static_cast<double>(sysconf(_SC_CLK_TCK));
  const auto [user, nice, system, idle, waiting, irq, softirq, stolen] = ticks;
  counters.busy_s += (user + nice + system + irq + softirq) * tick_s;
  counters.stolen_s += stolen * tick_s;
  counters.total_s += (user + nice + system + idle + waiting + irq + softirq + stolen) * tick_s;
}

/// The processors that this process may run on; in a container /proc/stat lists the whole machine's.
void read_stat(const fs::path& root, Counters& counters) {
  const std::vector<int> cpus = allowed_cpus(root);
  std::istringstream lines(read_text(root / "proc/stat").value_or(""));
  for (std::string line; std::getline(lines, line);) {
    const auto blank = line.find(' ');
    if (!line.starts_with("cpu") || blank == std::string::npos || blank == 3) continue;
    const auto cpu = parse_number(line.substr(3, blank - 3));
    const bool is_allowed = cpu && std::find(cpus.begin(), cpus.end(), static_cast<int>(*cpu)) != cpus.end();
    if (is_allowed) add_stat_line(line.substr(blank), counters);
  }
}

std::atomic<double> left_out_s = 0;

std::optional<double> mean_of_cpuinfo(const fs::path& root) {
  std::ifstream file(root / "proc/cpuinfo");
  double sum = 0;
  int count = 0;
  for (std::string line; std::getline(file, line);) {
    const auto colon = line.find(':');
    if (!line.starts_with("cpu MHz") || colon == std::string::npos) continue;
    sum += std::strtod(line.c_str() + colon + 1, nullptr);
    ++count;
  }
  if (count == 0) return std::nullopt;
  return sum / count;
}

bool is_processor_sensor(const std::string& name) {
  for (const char* known : {"coretemp", "k10temp", "zenpower", "x86_pkg_temp", "cpu_thermal", "cpu-thermal"}) {
    if (name == known) return true;
  }
  return false;
}

void take_hottest(std::optional<double>& hottest, std::optional<std::int64_t> millidegrees) {
  if (!millidegrees) return;
  const double degrees = static_cast<double>(*millidegrees) / 1e3;
  hottest = std::max(hottest.value_or(degrees), degrees);
}

std::optional<double> hottest_of_hwmon(const fs::path& root) {
  std::optional<double> hottest;
  for (const fs::path& device : list_folder(root / "sys/class/hwmon")) {
    if (!is_processor_sensor(read_text(device / "name").value_or(""))) continue;
    for (const fs::path& file : list_folder(device)) {
      const std::string name = file.filename().string();
      if (name.starts_with("temp") && name.ends_with("_input")) take_hottest(hottest, read_number(file));
    }
  }
  return hottest;
}

std::optional<double> hottest_of_zones(const fs::path& root) {
  std::optional<double> hottest;
  for (const fs::path& zone : list_folder(root / "sys/class/thermal")) {
    if (is_processor_sensor(read_text(zone / "type").value_or(""))) take_hottest(hottest, read_number(zone / "temp"));
  }
  return hottest;
}

}  // namespace

Counters read_counters(const fs::path& root) {
  Counters counters;
  read_stat(root, counters);
  for (const auto whose : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage{};
    getrusage(whose, &usage);
    counters.own_s += seconds(usage.ru_utime) + seconds(usage.ru_stime);
    counters.page_faults += usage.ru_minflt + usage.ru_majflt;
    counters.major_page_faults += usage.ru_majflt;
  }
  counters.own_s -= left_out_s;
  counters.at_s = now_s();
  return counters;
}

void leave_out_child_time(double seconds) {
  left_out_s = left_out_s + seconds;
}

std::optional<double> read_frequency_mhz(const fs::path& root) {
  double sum_khz = 0;
  int count = 0;
  for (const fs::path& cpu : list_folder(root / "sys/devices/system/cpu")) {
    const auto khz = read_number(cpu / "cpufreq/scaling_cur_freq");
    if (!khz) continue;
    sum_khz += static_cast<double>(*khz);
    ++count;
  }
  if (count > 0) return sum_khz / count / 1e3;
  return mean_of_cpuinfo(root);
}

std::optional<double> read_temperature_c(const fs::path& root) {
  const auto hottest = hottest_of_hwmon(root);
  return hottest ? hottest : hottest_of_zones(root);
}

void Conditions::add(const Counters& before, const Counters& after) {
  window_s += after.at_s - before.at_s;
  busy_s += after.busy_s - before.busy_s;
  stolen_s += after.stolen_s - before.stolen_s;
  total_s += after.total_s - before.total_s;
  own_s += after.own_s - before.own_s;
  page_faults += after.page_faults - before.page_faults;
  major_page_faults += after.major_page_faults - before.major_page_faults;
}

std::optional<double> Conditions::foreign_load(int threads) const {
  if (total_s < least_counted_s || window_s <= 0) return std::nullopt;
  return std::clamp((busy_s - own_s) / (window_s * std::max(threads, 1)), 0.0, 1.0);
}

std::optional<double> Conditions::stolen_share() const {
  if (total_s < least_counted_s) return std::nullopt;
  return std::clamp(stolen_s / total_s, 0.0, 1.0);
}

}  // namespace assay
