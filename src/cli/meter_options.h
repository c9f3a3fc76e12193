#pragma once

#include "cli/cli.h"
#include "studies/shared/energy_record.h"

namespace assay {

/// `--meter`, `--meter-command`, `--meter-unit`, `--meter-url`, `--price`, `--carbon`.
void add_meter_options(CLI::App& command, EnergyRequest& request);
/// `--energy-uncertainty`, `--cool-down`: for windows that can be made longer.
void add_energy_window_options(CLI::App& command, EnergyRequest& request);

}  // namespace assay
