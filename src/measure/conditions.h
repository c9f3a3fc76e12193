#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace assay {

/// Counters of the processors that this process may run on and of itself, with its children that have ended, at one
/// moment; only differences mean anything.
struct Counters {
  double at_s = 0;                     ///< Monotonic clock.
  double busy_s = 0;                   ///< Processor seconds that were not idle: user, nice, system, irq.
  double stolen_s = 0;                 ///< Processor seconds that the hypervisor gave to others.
  double total_s = 0;                  ///< Processor seconds that went by.
  double own_s = 0;                    ///< Processor seconds of this process, user and system; see below.
  std::int64_t page_faults = 0;        ///< Of this process; all kinds.
  std::int64_t major_page_faults = 0;  ///< Those that read from a disk.
};

/// /proc/stat under `root` and getrusage. Where /proc/stat is unreadable its figures stay 0, and so does total_s.
Counters read_counters(const std::filesystem::path& root = "/");

/// Processor seconds of a child that has just been waited for and was no part of what is measured: kept out of `own_s`
/// from now on, so that they stay what they were while they passed, another's.
void leave_out_child_time(double seconds);

/// Mean over all processors, MHz: cpufreq, else /proc/cpuinfo (which virtual machines often fill with a nominal
/// figure).
std::optional<double> read_frequency_mhz(const std::filesystem::path& root = "/");
/// The hottest processor sensor, degrees Celsius: hwmon (coretemp, k10temp, zenpower), else thermal zones of
/// processors.
std::optional<double> read_temperature_c(const std::filesystem::path& root = "/");

/// Processor time below which loads are not told: one tick of 10 ms would be more than 2 % of it.
constexpr double least_counted_s = 0.5;

/// What went on around the windows of one subject, added up.
struct Conditions {
  double window_s = 0;
  double busy_s = 0;
  double stolen_s = 0;
  double total_s = 0;
  double own_s = 0;
  std::int64_t page_faults = 0;
  std::int64_t major_page_faults = 0;
  std::optional<double> frequency_before_mhz;
  std::optional<double> frequency_after_mhz;
  std::optional<double> temperature_before_c;
  std::optional<double> temperature_after_c;
  std::uint64_t throttle_reasons = 0;  ///< Of a GPU (GpuConditions), before and after every window that counts.

  void add(const Counters& before, const Counters& after);

  /// What others used of the processors that this process may run on, over the time of the `threads` that it used (of
  /// as many cores as it may use at once, if those are fewer); 0 to 1. Where there are more cores than threads, others
  /// may have kept to the rest; their caches, memory and clock are shared all the same. Counted in clock ticks of 10
  /// ms: a single short window says nothing, the sum over many does. Absent where /proc/stat was unreadable or less
  /// than least_counted_s went by.
  std::optional<double> foreign_load(int threads) const;
  /// Share of all processor time that the hypervisor withheld while something here wanted to run.
  std::optional<double> stolen_share() const;
};

}  // namespace assay
