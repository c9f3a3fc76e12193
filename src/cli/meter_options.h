#pragma once

#include "cli/cli.h"
#include "experiments/energy_record.h"

namespace assay {

/// `--meter`, `--meter-command`, `--meter-unit`, `--meter-url`, `--energy-uncertainty`, `--cool-down`, `--price`,
/// `--carbon`.
void add_meter_options(CLI::App& command, EnergyRequest& request);

}  // namespace assay
