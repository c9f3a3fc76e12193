#include "results/identity.h"
#include "results/seal.h"
#include "rules/rule_tables.h"

namespace assay {
namespace {

Judgement says_broken_seal(const Cell&, const Record& row) {
  if (row.seal.state != Seal::State::broken) return {};
  return {fmt::format("{} was changed after it was written: its seal is of another content", row_name(row.setting)),
          {}};
}

Judgement says_changed_figures(const Cell&, const Record& row) {
  if (row.seal.changed.empty()) return {};
  return {fmt::format("{}: {}", row_name(row.setting), changed_words(row.seal, 3)), {}};
}

Judgement says_without_samples(const Cell&, const Record& row) {
  if (!is_without_samples(row)) return {};
  return {fmt::format("{}: a latency of {} ms stands there without the samples that it follows from",
                      row_name(row.setting), format_significant(*row.latency->median_ms)),
          {}};
}

// The grade of such rows is D: see `altered`.
constexpr Rule files[] = {
    {.id = "broken_seal",
     .kind = RuleKind::finding,
     .scope = RuleScope::every_row,
     .evidence = "seal",
     .states = "A record that was read is not what was written: its seal is of another content.",
     .judge = says_broken_seal,
     .severity = Severity::high,
     .remedy = "Take the file from where it was measured, or measure again."},
    {.id = "changed_figures",
     .kind = RuleKind::finding,
     .scope = RuleScope::every_row,
     .evidence = "raw_ms, seed, plan figures",
     .states = "A stored figure does not follow from the samples and figures beside it; shown is what follows.",
     .judge = says_changed_figures,
     .severity = Severity::high,
     .remedy = "Take the file from where it was measured, or measure again."},
    {.id = "figures_without_samples",
     .kind = RuleKind::finding,
     .scope = RuleScope::every_row,
     .evidence = "raw_ms, median_ms",
     .states = "A latency stands there without the samples that it follows from.",
     .judge = says_without_samples,
     .severity = Severity::high,
     .remedy = "Keep `raw_ms` where records are copied, or measure again."},
};

}  // namespace

bool is_without_samples(const Record& row) {
  return row.latency->median_ms && row.latency->raw_ms.empty();
}

std::span<const Rule> file_rules() {
  return files;
}

}  // namespace assay
