#include "studies/study/warm_up.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "results/identity.h"
#include "results/model_name.h"

namespace assay {
namespace {

/// Of one model and shape in one precision, the rows with the least and the most warm-up.
struct WarmUpPair {
  const Record* least = nullptr;
  const Record* most = nullptr;
};

bool same_but_for_warm_up(const Record& a, const Record& b) {
  Setting like_a = b.setting;
  like_a.warmup_steps = a.setting.warmup_steps;
  return stand_together(a.setting, like_a, Level::row);
}

std::vector<WarmUpPair> warm_up_pairs(const std::vector<Record>& records) {
  std::vector<WarmUpPair> pairs;
  for (const Record& record : records) {
    if (record.outcome.status != Status::ok || !record.setting.warmup_steps || !record.training->std_step_ms ||
        !record.training->mean_step_ms)
      continue;
    auto known = std::find_if(pairs.begin(), pairs.end(),
                              [&](const WarmUpPair& pair) { return same_but_for_warm_up(*pair.least, record); });
    if (known == pairs.end()) known = pairs.insert(pairs.end(), {&record, &record});
    if (*record.setting.warmup_steps < *known->least->setting.warmup_steps) known->least = &record;
    if (*record.setting.warmup_steps > *known->most->setting.warmup_steps) known->most = &record;
  }
  return pairs;
}

Finding warm_up_expectation(const WarmUpPair& pair) {
  const Record& cold = *pair.least;
  const Record& warm = *pair.most;
  const std::string observed =
      fmt::format("{} in {}: {} ± {} ms after {} steps, {} ± {} ms after {}", shown_model_name(cold.setting.model),
                  cold.setting.precision, format_significant(*cold.training->mean_step_ms),
                  format_significant(*cold.training->std_step_ms), *cold.setting.warmup_steps,
                  format_significant(*warm.training->mean_step_ms), format_significant(*warm.training->std_step_ms),
                  *warm.setting.warmup_steps);
  const std::string expectation =
      fmt::format("Without warm-up the deviation of a step is larger than after {} steps", *warm.setting.warmup_steps);
  Finding finding{.rule = "warm-up",
                  .kind = RuleKind::expectation,
                  .model = cold.setting.model,
                  .precision = cold.setting.precision};
  finding.text = expectation + ": " + observed;
  if (cold.setting.warmup_steps != warm.setting.warmup_steps)
    finding.met = *cold.training->std_step_ms > *warm.training->std_step_ms;
  return finding;
}

}  // namespace

Document warm_up_document(std::span<const Record> others, std::vector<Record> rows) {
  if (!rows.empty()) {
    const Record first = rows.front();
    std::copy_if(others.begin(), others.end(), std::back_inserter(rows),
                 [&](const Record& other) { return same_but_for_warm_up(first, other); });
  }
  Document document{.subject = {.title = "Training steps after several lengths of warm-up"}};
  for (const WarmUpPair& pair : warm_up_pairs(rows)) document.findings.push_back(warm_up_expectation(pair));
  document.records = std::move(rows);
  return document;
}

}  // namespace assay
