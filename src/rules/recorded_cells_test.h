#pragma once

#include <set>
#include <string>
#include <vector>

#include "results/derive.h"
#include "rules/recorded_runs.h"
#include "rules/rules.h"

namespace assay {

// Recorded cells as tests tell lies in them.

/// All times of a row divided by `factor`.
inline void hasten(Record& record, double factor) {
  Latency& latency = record.latency.made();
  for (double& ms : latency.raw_ms) ms /= factor;
  for (const auto member : {&Latency::median_ms, &Latency::p10_ms, &Latency::p90_ms, &Latency::ci_low_ms,
                            &Latency::ci_high_ms, &Latency::timed_s}) {
    if (latency.*member) *(latency.*member) /= factor;
  }
  record.rates = rates_of(record);
}

/// fp32 and its most narrow partner of every recorded cell that has both.
inline std::vector<std::vector<Record>> recorded_cells() {
  std::vector<std::vector<Record>> cells;
  for (const std::vector<Record>& document : recorded_runs()) {
    for (const Record& base : document) {
      if (base.setting.precision != "fp32" || base.setting.mode != Mode::inference || !base.evidence.instruction_ms)
        continue;
      for (const Record& other : document) {
        const bool is_partner = !other.latency->raw_ms.empty() && other.setting.precision == "int8" &&
                                other.setting.batch == base.setting.batch && other.setting.seq == base.setting.seq &&
                                other.setting.fusion == base.setting.fusion &&
                                other.setting.threads == base.setting.threads && other.evidence.instruction_ms;
        if (is_partner) cells.push_back({base, other});
      }
    }
  }
  return cells;
}

inline std::set<std::string> rules_that_speak(std::vector<Record> records) {
  std::set<std::string> ids;
  for (const Finding& finding : judge_in_full(records).findings) {
    if (finding.met != true) ids.insert(finding.rule);
  }
  return ids;
}

/// Peaks of a busy machine gate nothing, and rows of grade D are not looked at by all; the lies are told on a quiet
/// one.
inline void quieten(std::vector<Record>& cell) {
  for (Record& record : cell) {
    record.evidence.peaks_measured_share = 1;
    record.circumstances.made().foreign_load = 0.0;
    record.circumstances.made().stolen_share = 0.0;
    record.latency.made().ci_low_ms = 0.99 * *record.latency->median_ms;
    record.latency.made().ci_high_ms = 1.01 * *record.latency->median_ms;
  }
}

}  // namespace assay
