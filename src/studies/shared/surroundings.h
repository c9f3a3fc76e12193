#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/interrupt.h"
#include "hardware/facts.h"
#include "results/record.h"
#include "statistics/between_runs.h"

namespace assay {

/// Where the facts come from; asked for once the request has been found sound, since measuring them takes seconds.
using FactsSource = std::function<MachineFacts()>;

/// What earlier runs of this machine differed by, where enough are known.
struct RunSpreads {
  std::optional<RunSpread> latency = {};
  std::optional<RunSpread> speedup = {};
};

/// What a run tells while it runs, and how it is told to stop.
struct StudyCallbacks {
  std::function<void(const std::string& what, double seconds_left)> progress;
  std::function<void(const std::string& sentence)> say;
  /// Records as soon as they stand: of each cell when it ends, then again with what came later (quality).
  std::function<void(std::span<const Record>)> keep;
  /// What a run that is resumed has kept before; asked for once, before anything is measured.
  std::function<std::vector<Record>()> restore;
  /// Of the machine on which that row was measured, by runs whose processors were as free as they were then.
  std::function<RunSpreads(const Record& measured)> spread_between_runs;
  InterruptFlag interrupted = nullptr;
};

/// Hands over records that stand, judged as they will be in the end: rules look at one cell at a time.
void keep_judged(const StudyCallbacks& callbacks, std::vector<Record> records);

}  // namespace assay
