#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/interrupt.h"
#include "studies/peers/timed_engine.h"

namespace assay {

/// What a cell has, for the words of a command.
struct BesideCell {
  std::string model;
  std::int64_t batch = 1;
  std::int64_t seq = 1;
  std::int64_t threads = 1;
};

/// The command with what stands in the place of {model}, {batch}, {seq} and {threads}.
std::string command_for(const std::string& command, const BesideCell& cell);

/// A program that is run from its start to its end for each pass. Where it marks a phase "pass" (docs/measure.md), a
/// sample is the mean time through it; else the whole run. A run that fails loses it.
std::unique_ptr<TimedEngine> timed_beside(const std::string& command, const BesideCell& cell,
                                          InterruptFlag interrupted);

}  // namespace assay
