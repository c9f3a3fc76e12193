#pragma once

#include <filesystem>
#include <optional>

#include "measure/energy_figures.h"
#include "measure/meters.h"
#include "measure/sampling.h"
#include "results/record.h"

namespace assay {

/// What is asked of the meters, and what a joule is worth.
struct EnergyRequest {
  MeterRequest meters{};
  /// A share that each window is made long enough for; 0: 20 of the meter's updates and steps.
  double uncertainty = 0;
  double cool_down_s = 1;  ///< Of rest before each window that is for energy alone.
  std::optional<double> price_per_kwh{};
  std::optional<double> carbon_g_per_kwh{};
};

/// The meter, or that there is none and why.
EnergyStatus status_of(const EnergySource& source);

/// The meters of a run and what the machine draws while nothing runs.
struct Power {
  EnergySource source = {};
  std::optional<IdlePower> idle = {};       ///< The baseline; absent without a meter.
  std::optional<IdlePower> last_idle = {};  ///< As read_idle_again() read it.
};
/// Looks for the meters and measures the idle baseline, where there is one. Throws an error where a meter that was
/// asked for by name cannot be had.
Power find_power(const EnergyRequest& request);

/// Reads what idleness draws again, once the work is done, and makes the baseline of both readings. Nothing without a
/// meter, nor after an interrupt.
void read_idle_again(Power& power, InterruptFlag interrupted);

/// The request for rows of a --device whose files are under `root`.
EnergyRequest energy_on(const std::string& device, const std::filesystem::path& root, EnergyRequest request);

/// Has the meters read around windows as long as they need: those of the rounds, or ones apart.
void meter_windows(const EnergyRequest& request, const Power& power, SamplingOptions& options);

/// Energy of one sequence with its uncertainty and its meter, gross and net; what the other meters read; and whether
/// two of them contradict each other.
Energy energy_of(const Series& series, const Power& power, std::int64_t batch);
/// The meter, and what idleness draws; no figures of the series but whether the meter was one.
Energy metered_by(const Series& series, const Power& power);
/// Gross and net of one sequence (run, item) with their bounds; `series` has the windows, and energy in them.
void set_energy(const EnergyOfOne& one, const Series& series, const Power& power, Energy& energy);
/// What the user gave as the price and the carbon intensity of a kWh; rates_of() makes costs of them.
void set_prices(const EnergyRequest& request, Energy& energy);

}  // namespace assay
