#pragma once

#include <set>
#include <string>
#include <vector>

#include "rules/recorded_runs.h"
#include "rules/rules.h"

namespace assay {

// Recorded cells as tests tell lies in them.

/// All times of a row divided by `factor`.
inline void hasten(Record& record, double factor) {
  for (double& ms : record.raw_ms) ms /= factor;
  for (const auto member : {&Record::median_ms, &Record::p10_ms, &Record::p90_ms, &Record::ci_low_ms,
                            &Record::ci_high_ms, &Record::timed_s}) {
    if (record.*member) *(record.*member) /= factor;
  }
  derive(record);
}

/// fp32 and its most narrow partner of every recorded cell that has both.
inline std::vector<std::vector<Record>> recorded_cells() {
  std::vector<std::vector<Record>> cells;
  for (const std::vector<Record>& document : recorded_runs()) {
    for (const Record& base : document) {
      if (base.precision != "fp32" || base.mode != "inference" || !base.instruction_ms) continue;
      for (const Record& other : document) {
        const bool is_partner = !other.raw_ms.empty() && other.precision == "int8" && other.batch == base.batch &&
                                other.seq == base.seq && other.fusion == base.fusion && other.threads == base.threads &&
                                other.instruction_ms;
        if (is_partner) cells.push_back({base, other});
      }
    }
  }
  return cells;
}

inline std::set<std::string> rules_that_speak(std::vector<Record> records) {
  std::set<std::string> ids;
  for (const Finding& finding : judge_in_full(records)) {
    if (finding.met != true) ids.insert(finding.rule);
  }
  return ids;
}

/// Peaks of a busy machine gate nothing, and rows of grade D are not looked at by all; the lies are told on a quiet
/// one.
inline void quieten(std::vector<Record>& cell) {
  for (Record& record : cell) {
    record.peaks_measured_share = 1;
    record.foreign_load = 0.0;
    record.stolen_share = 0.0;
    record.ci_low_ms = 0.99 * *record.median_ms;
    record.ci_high_ms = 1.01 * *record.median_ms;
  }
}

}  // namespace assay
