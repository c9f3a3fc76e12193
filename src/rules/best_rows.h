#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rules/verdict.h"

namespace assay {

// Which of all precisions that were measured is the best for each aim, by the intervals that a verdict rests on
// (rules/verdict.h), and which of them the intervals do not tell from it.

/// What a precision may lose against its baseline to be chosen.
struct MostLoss {
  double kl = 0.01;                       ///< Mean of KL(baseline || it), nats.
  std::optional<double> perplexity = {};  ///< Relative rise.
  std::optional<double> accuracy = {};    ///< Of the share of labels that are right.
  bool counts_unmeasured = true;          ///< Whether a row whose loss was not measured may be chosen.
};
/// Why the row loses too much; empty where it does not.
std::string too_lossy(const Record& row, const MostLoss& most);

/// The best row for an aim.
struct AimAnswer {
  std::string aim = {};  ///< "latency", "throughput", "energy", "memory"
  std::string unit = {};
  const Record* best = nullptr;              ///< Null: there is none.
  Table::Cell figure = Absent{};             ///< Of the best row, in `unit`.
  std::vector<const Record*> as_good = {};   ///< The whole interval of their difference lies within the aim's margin.
  std::vector<const Record*> not_told = {};  ///< Intervals do not tell them from the best.
  std::string reason = {};                   ///< Why there is no best row.
};

/// Rows that differ in their precision, and in their batch where throughput is asked.
struct AnsweredCell {
  const Record* any = nullptr;  ///< What its rows share can be read from it.
  bool over_batches = false;
  std::vector<AimAnswer> answers = {};
};

/// Each source is of one run; rows of several runs are told apart by more, since runs move. Of several of one precision
/// the last one counts, and a baseline that stands there for others alone (`compared_only`) before none. Latency,
/// energy and memory within a cell, throughput over the batches of a model at one length. The sources must outlive the
/// answer.
std::vector<AnsweredCell> best_rows(std::span<const VerdictSource> sources, const MostLoss& most);

}  // namespace assay
