#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "studies/sensitivity/words.h"

namespace assay {
namespace {

std::string quality_change_words(const Change& change, const char* unit) {
  if (!change.interval) return fmt::format("{:.2g}{}", change.value, unit);
  return fmt::format("{:.2g}{} [{:.2g}, {:.2g}]", change.value, unit, change.interval->low, change.interval->high);
}

/// "KL 0.012 nats [0.01, 0.014], loss +0.003 nats [..]".
std::string quality_change_words(const UnitQuality& quality) {
  if (!quality.failure.empty()) return quality.failure;
  std::string words = "KL " + quality_change_words(quality.kl, " nats");
  if (quality.delta_nll) words += ", loss " + quality_change_words(*quality.delta_nll, " nats");
  if (quality.accuracy_change) words += ", accuracy " + quality_change_words(*quality.accuracy_change, "");
  return words;
}

std::string head_of(const ModelSensitivity& study, const std::string& precision) {
  return fmt::format("{}, {}", study.model, precision);
}

/// The whole, what costs most of it, and whether layers add up.
std::string whole_sentence(const ModelSensitivity& study, const std::string& precision) {
  const UnitRow* whole = study.find("everything", precision);
  if (whole == nullptr || !whole->only) return head_of(study, precision) + ": not reached.";
  return fmt::format("{}: everything in it costs {}.", head_of(study, precision), quality_change_words(*whole->only));
}

std::string layers_sentence(const ModelSensitivity& study, const std::string& precision) {
  const std::vector<const UnitRow*> rows = ranked(study, precision);
  const UnitRow* whole = study.find("everything", precision);
  if (rows.empty() || !whole->only || !whole->only->failure.empty() || whole->only->kl.value <= 0) return "";
  double sum = 0;
  for (const UnitRow* row : rows) sum += row->only->kl.value;
  const UnitRow& worst = *rows.front();
  std::string words = fmt::format(
      "{}: {} costs most alone (KL {:.2g} nats, {:.0f} % of the whole's), {} least ({:.2g}); the {} layers alone add "
      "up "
      "to {:.2f}x the whole's KL.",
      head_of(study, precision), worst.unit.name, worst.only->kl.value,
      100 * worst.only->kl.value / whole->only->kl.value, rows.back()->unit.name, rows.back()->only->kl.value,
      rows.size(), sum / whole->only->kl.value);
  if (worst.all_but && worst.all_but->failure.empty()) {
    words += fmt::format(" All but it: KL {}, the whole: {}.", quality_change_words(worst.all_but->kl, ""),
                         quality_change_words(whole->only->kl, ""));
  }
  return words;
}

std::string energy_sentence(const ModelSensitivity& study, const std::string& precision) {
  const auto whole = study.whole_energy.find(precision);
  if (whole == study.whole_energy.end()) return "";
  double sum = 0;
  double uncertainty = 0;
  for (const UnitRow& row : study.rows_by_unit) {
    if (row.precision != precision || !row.energy) continue;
    sum += row.energy->value;
    uncertainty += row.energy->uncertainty;
  }
  const double missing = whole->second.value - sum;
  return fmt::format(
      "{}: linear layers run alone take {:.3g} J ± {:.2g} together, a whole run {:.3g} J ± {:.2g}: {:.3g} J ({:.0f} %) "
      "are other operations, or what layers cost otherwise in a run.",
      head_of(study, precision), sum, uncertainty, whole->second.value, whole->second.uncertainty, missing,
      100 * missing / whole->second.value);
}

bool is_whole_direct(const ModelSensitivity& study) {
  return std::all_of(study.rows_by_unit.begin(), study.rows_by_unit.end(),
                     [](const UnitRow& row) { return row.only.has_value(); });
}

std::string time_sentence(const ModelSensitivity& study) {
  std::string words =
      fmt::format("{}: the direct way was to take {:.0f} s and {} {:.0f} s", study.model, study.predicted_s,
                  is_whole_direct(study) ? "took" : "was interrupted after", study.took_s);
  if (study.restored > 0) words += fmt::format("; {} units were taken from the earlier file", study.restored);
  return words + ".";
}

std::string partial_sentence(const ModelSensitivity& study) {
  const auto reached = std::count_if(study.rows_by_unit.begin(), study.rows_by_unit.end(),
                                     [](const UnitRow& row) { return row.only.has_value(); });
  return fmt::format("{}: PARTIAL: interrupted with {} of {} rows; --resume with the JSON of this run goes on.",
                     study.model, reached, study.rows_by_unit.size());
}

/// The role that costs most alone; null where none was reached.
const UnitRow* worst_role(const ModelSensitivity& study, const std::string& precision) {
  const UnitRow* worst = nullptr;
  for (const UnitRow& row : study.rows_by_unit) {
    const bool counts = row.precision == precision && row.unit.kind == UnitKind::role && row.only &&
                        row.only->failure.empty() && row.only->kl.value > 0;
    if (counts && (worst == nullptr || row.only->kl.value > worst->only->kl.value)) worst = &row;
  }
  return worst;
}

std::string roles_between(const std::vector<ModelSensitivity>& studies, const std::string& precision) {
  std::vector<std::string> parts;
  for (const ModelSensitivity& study : studies) {
    const UnitRow* worst = worst_role(study, precision);
    if (worst == nullptr) continue;
    parts.push_back(fmt::format("{} in {} ({}; KL {})", worst->unit.name, study.model, study.task,
                                quality_change_words(worst->only->kl, " nats")));
  }
  return parts.size() < 2 ? ""
                          : fmt::format("{}: the role that costs most alone is {}.", precision, fmt::join(parts, ", "));
}

}  // namespace

std::vector<std::string> sentences_between(const std::vector<ModelSensitivity>& studies) {
  std::vector<std::string> sentences;
  if (studies.size() < 2) return sentences;
  for (const std::string& precision : precisions_of(studies.front())) {
    sentences.push_back(roles_between(studies, precision));
    const std::vector<std::string> differences = relation_differences(studies, precision);
    if (!differences.empty())
      sentences.push_back(
          fmt::format("{}: the models differ in what KL goes with: {}.", precision, fmt::join(differences, "; ")));
  }
  std::erase(sentences, "");
  return sentences;
}

std::vector<std::string> precisions_of(const ModelSensitivity& study) {
  std::vector<std::string> precisions;
  for (const UnitRow& row : study.rows_by_unit) {
    if (precisions.empty() || precisions.back() != row.precision) precisions.push_back(row.precision);
  }
  return precisions;
}

std::vector<const UnitRow*> ranked(const ModelSensitivity& study, const std::string& precision) {
  std::vector<const UnitRow*> rows;
  for (const UnitRow& row : study.rows_by_unit) {
    const bool reached = row.only && row.only->failure.empty();
    if (row.precision == precision && row.unit.kind == UnitKind::layer && reached) rows.push_back(&row);
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const UnitRow* a, const UnitRow* b) { return a->only->kl.value > b->only->kl.value; });
  return rows;
}

std::vector<std::string> sentences_of(const ModelSensitivity& study) {
  std::vector<std::string> sentences;
  if (study.rows_by_unit.empty()) return {fmt::format("{}: not begun before the interrupt.", study.model)};
  if (study.is_partial) sentences.push_back(partial_sentence(study));
  for (const std::string& precision : precisions_of(study)) {
    for (auto* const sentence : {whole_sentence, layers_sentence, energy_sentence})
      sentences.push_back(sentence(study, precision));
  }
  if (study.whole_energy.empty()) sentences.push_back("Energy: no meter (" + study.energy_words + ").");
  sentences.push_back(time_sentence(study));
  std::erase(sentences, "");
  std::erase(sentences, "Energy: no meter ().");
  return sentences;
}

}  // namespace assay
