#include "studies/study/warm_up.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "results/model_name.h"
#include "studies/train_benchmark/warm_up.h"

namespace assay {
namespace {

/// Of one model and shape in one precision, the rows with the least and the most warm-up.
struct WarmUpPair {
  const Record* least = nullptr;
  const Record* most = nullptr;
};

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

Finding expectation_on(const Record& record, std::string text) {
  Finding finding{.rule = "warm-up",
                  .kind = RuleKind::expectation,
                  .model = record.setting.model,
                  .precision = record.setting.precision};
  finding.batch = record.setting.batch;
  finding.seq = record.setting.seq;
  finding.text = std::move(text);
  return finding;
}

/// Of the rows only those of one length of warm-up can be used.
Finding untested_expectation(const Record& record) {
  return expectation_on(record,
                        fmt::format("Without warm-up the deviation of a step is larger: not tested for {} in {}, "
                                    "of which there are figures only after {} steps of warm-up",
                                    record.setting.model, record.setting.precision, *record.setting.warmup_steps));
}

std::string step_words(const Record& record) {
  return fmt::format("{} ± {} ms (median {}) after {}", format_significant(*record.training->mean_step_ms),
                     format_significant(*record.training->std_step_ms),
                     format_significant(record.training->step_ms.value_or(0)), *record.setting.warmup_steps);
}

Finding warm_up_expectation(const WarmUpPair& pair) {
  const Record& cold = *pair.least;
  const Record& warm = *pair.most;
  if (cold.setting.warmup_steps == warm.setting.warmup_steps) return untested_expectation(cold);
  Finding finding = expectation_on(
      cold,
      fmt::format("Without warm-up the deviation of a step is larger than after {} steps: {} in {}, {} steps each: "
                  "{}, {}",
                  *warm.setting.warmup_steps, shown_model_name(cold.setting.model), cold.setting.precision,
                  cold.latency->samples, step_words(cold), step_words(warm)));
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
  document.figures = warm_up_figures(rows);
  for (const WarmUpPair& pair : warm_up_pairs(rows)) document.findings.push_back(warm_up_expectation(pair));
  document.records = std::move(rows);
  return document;
}

}  // namespace assay
