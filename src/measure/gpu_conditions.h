#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace assay {

/// How a GPU ran at one moment.
struct GpuConditions {
  std::uint64_t throttle_reasons = 0;  ///< Bits of NVML's clocksEventReasons.
  std::optional<int> temperature_c;
  std::optional<int> clock_mhz;  ///< Of the multiprocessors.
};

/// Reads those of the GPU with that PCI bus id (empty: the first) through the driver's NVML; empty where there is none.
std::function<GpuConditions()> gpu_conditions_reader(const std::string& bus_id);

/// Whether something beyond idleness and the clocks that were asked for held the clocks down: a power cap, heat, a
/// power brake.
bool is_throttled(std::uint64_t reasons);
/// Whether one more round with clocks held down is to be left out: while fewer were than count. A board that always
/// runs so is measured as it runs.
bool may_leave_out(std::int64_t left_out, std::int64_t counted);
/// "power cap, heat (software)"; empty where nothing holds the clocks down.
std::string throttle_words(std::uint64_t reasons);

}  // namespace assay
