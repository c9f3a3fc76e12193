#include "studies/bench/group_rows.h"

#include <algorithm>

#include "results/identity.h"

namespace assay {

std::vector<Record> without_known(const std::vector<Record>& all, std::span<const Record> more) {
  std::vector<Record> fresh;
  for (const Record& record : more) {
    const bool known = std::any_of(all.begin(), all.end(), [&](const Record& other) {
      return stand_together(other.setting, record.setting, Level::row);
    });
    if (!known) fresh.push_back(record);
  }
  return fresh;
}

std::vector<Record> with_baseline_samples(const std::vector<Record>& known, std::vector<Record> measured) {
  for (const Record& baseline : std::vector<Record>(measured)) {
    if (!is_baseline(baseline.setting) || without_known(known, {&baseline, 1}).size() == 1) continue;
    for (Record& record : measured) {
      if (record.speedup && stand_together(record.setting, baseline.setting, Level::cell))
        record.speedup.made().baseline_raw_ms = baseline.latency->raw_ms;
    }
  }
  return measured;
}

}  // namespace assay
