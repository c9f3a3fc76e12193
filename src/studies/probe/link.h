#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "processes/group.h"
#include "results/document.h"
#include "statistics/statistics.h"

namespace assay {

/// A figure with its 95 % interval, where there are rounds enough.
struct LinkFigure {
  double value = 0;
  std::optional<Interval> interval = {};
};

/// What an exchange between ranks costs in which each sends to all others at once, as direct exchange of gradients
/// does: of N ranks it takes (N - 1) (latency + bytes / bandwidth), bytes of each message.
struct Link {
  int ranks = 0;
  int machines = 0;
  std::string transport;
  std::int64_t small_bytes = 0;  ///< Of each message of the exchanges that say the latency,
  std::int64_t large_bytes = 0;  ///< and of those that say the bandwidth.
  int rounds = 0;
  LinkFigure latency_us = {};      ///< Of a message.
  LinkFigure bandwidth_gb_s = {};  ///< With which a rank sends; 10^9 bytes. While it receives as much.
};

/// Small and large exchanges in turns, each timed by the slowest rank; figures are medians over the rounds. The
/// bandwidth is bytes over the whole time of a large one, its messages' latency included. A group of two ranks at
/// least; every rank calls it, all get the same.
Link measure_link(Group& group);

/// Adds it to a document of rank 0's machine: a table of facts, and what `memory --ranks` takes of it.
void add_link(const Link& link, Document& document);

}  // namespace assay
