#include "rules/rules.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <tuple>

#include "base/error.h"
#include "results/derive.h"
#include "results/identity.h"
#include "results/model_name.h"
#include "rules/rule_tables.h"
#include "rules/verdict.h"
#include "statistics/processes.h"
#include "statistics/rounds.h"

namespace assay {
namespace {

std::vector<Rule> all_rules() {
  std::vector<Rule> all;
  for (const auto part : {gate_rules(), trust_rules(), finding_rules(), suspicion_rules(), energy_rules(),
                          device_rules(), file_rules(), expectation_rules()}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

/// Cells in the order in which their first rows stand.
std::vector<Cell> cells_of(const std::vector<Record>& records) {
  std::vector<Cell> cells;
  for (const Record& record : records) {
    auto cell = std::find_if(cells.begin(), cells.end(), [&](const Cell& known) {
      return stand_together(known.records.front()->setting, record.setting, Level::cell);
    });
    if (cell == cells.end()) cell = cells.insert(cells.end(), Cell{});
    cell->records.push_back(&record);
    if (record.outcome.status != Status::ok) continue;
    cell->measured.push_back(&record);
    if (is_baseline(record.setting)) cell->baseline = &record;
  }
  return cells;
}

/// Whether another cell is of the same steps behind a longer warm-up: they are told of once.
bool is_shorter_of(const Cell& cell, const std::vector<Cell>& cells) {
  const Setting& own = cell.records.front()->setting;
  if (!own.warmup_steps) return false;
  return std::any_of(cells.begin(), cells.end(), [&](const Cell& other) {
    Setting like_own = other.records.front()->setting;
    const bool is_longer = like_own.warmup_steps > own.warmup_steps;
    like_own.warmup_steps = own.warmup_steps;
    return is_longer && stand_together(like_own, own, Level::cell);
  });
}

/// Calls `change` with every record that has samples and its cell.
template <typename Change>
void for_samples(std::vector<Record>& records, Change&& change) {
  for (const Cell& cell : cells_of(records)) {
    for (Record& record : records) {
      if (record.latency->samples > 0 && stand_together(record.setting, cell.records.front()->setting, Level::cell))
        change(cell, record);
    }
  }
}

/// The cell as findings see it: rows of grade D prove nothing.
Cell without_doubtful(const Cell& cell) {
  const auto is_doubtful = [](const Record* row) { return row->grade.trust == Trust::d; };
  Cell trusted = cell;
  std::copy_if(cell.measured.begin(), cell.measured.end(), std::back_inserter(trusted.doubtful), is_doubtful);
  std::erase_if(trusted.measured, is_doubtful);
  if (trusted.baseline && is_doubtful(trusted.baseline)) trusted.baseline = nullptr;
  return trusted;
}

/// Advice is about this program's rows: why another one is slow, or which of its precisions to take, is not known here.
Cell without_engines(Cell cell) {
  for (auto* rows : {&cell.records, &cell.measured, &cell.doubtful})
    std::erase_if(*rows, [](const Record* row) { return row->setting.engine.has_value(); });
  return cell;
}

void drop_comparison(Record& record) {
  record.speedup.reset();
  record.difference.reset();
}

/// What was scored and how stays; no figure does.
void drop_quality(Record& record) {
  if (!record.quality) return;
  record.quality = Quality{.quality_status = record.quality->quality_status,
                           .quality_data = record.quality->quality_data,
                           .protocol = record.quality->protocol};
}

/// What compares with a baseline whose figures are wrong is wrong too.
void withhold_comparison(const Cell& cell, Record& record) {
  if (unsound_baseline(cell, record) != nullptr) drop_comparison(record);
}

/// Files and stores have no word for NaN and infinity: a row that says it was scored and holds no figure had one.
bool lost_its_figure(const Record& record) {
  return record.outcome.status == Status::ok && record.quality->quality_status.state == QualityState::scored &&
         *quality_kind(record) == '\0';
}

/// No figure of quality follows from an output that is no number, whoever wrote one down.
void withhold_what_is_not_finite(Record& record) {
  if (lost_its_figure(record)) {
    record.outcome.status = Status::not_finite;
    record.outcome.reason = "its quality was scored and is no number: NaN or infinity, for which files have no word";
  }
  if (record.outcome.status != Status::not_finite) return;
  drop_comparison(record);
  drop_quality(record);
}

Standing standing(bool had, bool has) {
  return had && !has ? Standing::is_void : Standing::stands;
}

/// What judging made of a record.
Ruling ruling_of(const Record& found, const Record& record) {
  return {.status = record.outcome.status,
          .reason = record.outcome.reason,
          .grade = record.grade,
          .quality = standing(*quality_kind(found) != '\0', *quality_kind(record) != '\0'),
          .comparison = standing(found.speedup || found.difference, record.speedup || record.difference)};
}

Severity severity_of(const Rule& rule, const Judgement& judgement) {
  const bool is_calm = rule.kind == RuleKind::expectation && judgement.met != false;
  return is_calm ? Severity::info : judgement.severity.value_or(rule.severity);
}

Finding finding_of(const Rule& rule, const Record& row, Judgement judgement) {
  return {.rule = rule.id,
          .kind = rule.kind,
          .model = row.setting.model,
          .batch = row.setting.batch,
          .seq = row.setting.seq,
          .precision = rule.scope == RuleScope::cell ? "" : row_name(row.setting),
          .met = judgement.met,
          .text = std::move(judgement.text),
          .severity = severity_of(rule, judgement)};
}

/// What is found, each sentence with what of model and conditions differs between the records.
class FoundInRecords {
 public:
  explicit FoundInRecords(std::span<const Record> records) {
    for (const SettingField& field : setting_fields()) {
      const bool is_told = field.level == Level::title && field.aspect == Aspect::subject &&
                           (field.mention != Mention::otherwise || std::string_view(field.name) == "model");
      const bool differs = std::any_of(records.begin(), records.end(), [&](const Record& record) {
        return !field.agree(record.setting, records.front().setting);
      });
      if (is_told && differs) differing_.push_back(&field);
    }
  }

  void add(const Rule& rule, const Record& row, Judgement judgement) {
    if (rule.kind != RuleKind::trust) judgement.text = title_of(row) + judgement.text;
    findings_.push_back(finding_of(rule, row, std::move(judgement)));
  }
  std::vector<Finding> take() { return std::move(findings_); }

 private:
  /// "gpt2, fusion off: "; empty where all records are alike.
  std::string title_of(const Record& row) const {
    std::string title;
    for (const SettingField* field : differing_) {
      const std::string words =
          std::string_view(field->name) == "model" ? shown_model_name(row.setting.model) : words_of(*field, row);
      if (!words.empty()) title += (title.empty() ? "" : ", ") + words;
    }
    return title.empty() ? title : title + ": ";
  }

  std::vector<const SettingField*> differing_;
  std::vector<Finding> findings_;
};

void apply_gate(const Cell& cell, Record& record, FoundInRecords& findings) {
  for (const Rule& rule : gate_rules()) {
    const Judgement judgement = rule.judge(cell, record);
    if (judgement.text.empty()) continue;
    record.outcome.status = Status::impossible;
    record.outcome.reason = judgement.text;
    findings.add(rule, record, judgement);
    return;
  }
}

std::string ground_of_trust(const Record& record) {
  std::string ground = fmt::format("{} samples", record.latency->samples);
  if (record.latency->ci_low_ms && record.latency->ci_high_ms && record.latency->median_ms.value_or(0) > 0) {
    ground +=
        fmt::format(", interval of the median {} wide",
                    percent((*record.latency->ci_high_ms - *record.latency->ci_low_ms) / *record.latency->median_ms));
  }
  if (record.circumstances->foreign_load)
    ground += fmt::format(", others used {} of the processors", percent(*record.circumstances->foreign_load));
  return ground;
}

void apply_trust(const Cell& cell, Record& record, FoundInRecords& findings) {
  Trust grade = Trust::a;
  record.grade.trust_reasons.clear();
  if (record.outcome.status == Status::impossible || record.outcome.status == Status::not_finite) {
    grade = Trust::d;
    record.grade.trust_reasons.push_back(record.outcome.reason.value_or("no reason was given"));
  }
  for (const Rule& rule : trust_rules()) {
    const Judgement judgement = rule.judge(cell, record);
    if (judgement.text.empty()) continue;
    grade = std::max(grade, *rule.grade);
    record.grade.trust_reasons.push_back(fmt::format("{} at best: {}", name(*rule.grade), judgement.text));
    findings.add(rule, record, judgement);
  }
  if (grade == Trust::a) record.grade.trust_reasons.push_back(ground_of_trust(record));
  record.grade.trust = grade;
}

void collect(const Rule& rule, const Cell& cell, FoundInRecords& findings) {
  std::vector<const Record*> rows = rule.scope == RuleScope::every_row ? cell.records : cell.measured;
  if (rule.scope == RuleScope::cell) {
    if (rows.empty()) rows = cell.doubtful;
    if (!rows.empty()) rows = {cell.baseline ? cell.baseline : rows.front()};
  }
  for (const Record* row : rows) {
    Judgement judgement = rule.judge(cell, *row);
    if (!judgement.text.empty()) findings.add(rule, *row, std::move(judgement));
  }
}

/// Some studies make records that they say something else of.
bool is_graded(std::span<const Record> records) {
  return std::any_of(records.begin(), records.end(),
                     [](const Record& record) { return record.grade.trust.has_value(); });
}

/// Not of the study that made the document.
bool is_by_a_rule(const Finding& finding) {
  return std::any_of(rules().begin(), rules().end(), [&](const Rule& rule) { return finding.rule == rule.id; });
}

Finding broken_document(const RunOrigin& origin) {
  Finding finding{.rule = "broken_seal", .severity = Severity::high};
  finding.text =
      fmt::format("Something in this file was changed after it was written: its seal {:.12} is of another content",
                  *origin.seal.seal);
  return finding;
}

void drop_repeated(std::vector<Finding>& findings) {
  std::set<std::tuple<std::string, std::string, std::string>> seen;
  std::erase_if(findings, [&](const Finding& finding) {
    return !seen.emplace(finding.rule, finding.model, finding.text).second;
  });
}

/// Of the first's time over the second's, over processes where there are several.
std::optional<Ratio> ratio_of_samples(const Latency& a, const Latency& b) {
  const auto are_times = [](const std::vector<double>& all_ms) {
    return !all_ms.empty() && std::all_of(all_ms.begin(), all_ms.end(), [](double ms) { return ms > 0; });
  };
  if (a.raw_ms.size() != b.raw_ms.size() || !are_times(a.raw_ms) || !are_times(b.raw_ms)) return std::nullopt;
  if (a.process_samples != b.process_samples || !are_of_processes(b.raw_ms, b.process_samples))
    return ratio_of_rounds(b.raw_ms, a.raw_ms);
  const std::vector<double> ratios = ratios_of_processes(a.raw_ms, b.raw_ms, b.process_samples);
  return Ratio{median(ratios), interval_over_processes(ratios, median(ratios))};
}

/// Over its baseline; absent where that has no interval.
std::optional<Ratio> kept_speedup(const Speedup& speedup) {
  if (!speedup.speedup || !speedup.speedup_low || !speedup.speedup_high) return std::nullopt;
  return Ratio{*speedup.speedup, Interval{*speedup.speedup_low, *speedup.speedup_high}};
}

Ratio inverse(const Ratio& ratio) {
  Ratio inverted{.value = 1 / ratio.value, .interval = std::nullopt};
  if (ratio.interval && ratio.interval->low > 0)
    inverted.interval = Interval{1 / ratio.interval->high, 1 / ratio.interval->low};
  return inverted;
}

}  // namespace

std::span<const Rule> rules() {
  static const std::vector<Rule> all = all_rules();
  return all;
}

const Record* unsound_baseline(const Cell& cell, const Record& row) {
  if (is_baseline(row.setting)) return nullptr;
  for (const Record* other : cell.records) {
    const bool is_unsound = other->outcome.status == Status::impossible || other->outcome.status == Status::not_finite;
    if (is_baseline(other->setting) && is_unsound) return other;
  }
  return nullptr;
}

const Record* not_finite_baseline(const Cell& cell) {
  for (const Record* row : cell.records) {
    if (is_baseline(row->setting) && row->outcome.status == Status::not_finite) return row;
  }
  return nullptr;
}

const Precision* precision_row(const Record& record) {
  const std::string base = record.setting.precision.substr(0, record.setting.precision.find('['));
  for (const Precision& row : precision_table()) {
    if (base == row.name) return &row;
  }
  return nullptr;
}

bool is_defined_operand(const Precision& precision, DType operand) {
  const bool is_float_of_16_or_more = is_float(operand) && size_of(operand) >= 2;
  // Plain tensors of a file are multiplied as they are.
  if (takes_formats(precision.scheme) && is_float_of_16_or_more) return true;
  return widens_weights(precision.scheme) ? is_float_of_16_or_more : operand == precision.operand;
}

bool is_overridden(const Record& record) {
  return record.setting.precision.find('[') != std::string::npos;
}

std::optional<Equivalence> quality_equivalence(const Record& record) {
  const bool perplexity = record.difference->delta_log_perplexity.has_value();
  if (!perplexity && !record.difference->accuracy_change) return std::nullopt;
  const auto low = perplexity ? record.difference->delta_log_perplexity_low : record.difference->accuracy_change_low;
  const auto high = perplexity ? record.difference->delta_log_perplexity_high : record.difference->accuracy_change_high;
  const double margin = perplexity ? log_perplexity_margin : accuracy_margin;
  if (!low || !high) return Equivalence::cannot_tell;
  if (*low >= -margin && *high <= margin) return Equivalence::equal;
  return *low > margin || *high < -margin ? Equivalence::different : Equivalence::cannot_tell;
}

std::string scored_words(const Record& record) {
  const std::string scored = format_count(record.quality->scored.value_or(0));
  if (!record.difference->delta_log_perplexity) return scored + " rows" + part_scored_words(record);
  return fmt::format("{} tokens in {} windows{}", scored, format_count(record.quality->scored_windows.value_or(0)),
                     part_scored_words(record));
}

std::string part_scored_words(const Record& record) {
  const std::optional<ScoredPart> part = scored_part(record.quality->quality_status);
  return part ? fmt::format(" (a part, {} before an interrupt)", to_text(*part)) : "";
}

std::optional<bool> is_quality_changed(const Record& record) {
  if (record.difference->delta_log_perplexity_low && record.difference->delta_log_perplexity_high)
    return *record.difference->delta_log_perplexity_low > 0 || *record.difference->delta_log_perplexity_high < 0;
  if (record.difference->mcnemar_p) return *record.difference->mcnemar_p <= 0.05;
  return std::nullopt;
}

bool are_peaks_busy(const Record& record) {
  return record.evidence.peaks_measured_share.value_or(1) < 0.5;
}

bool were_interleaved(const Record& a, const Record& b) {
  return a.outcome.group == b.outcome.group;
}

std::optional<double> matmul_ratio(const Record& record) {
  if (record.evidence.matmul_peak_gflops.value_or(0) <= 0 ||
      record.evidence.baseline_matmul_peak_gflops.value_or(0) <= 0)
    return {};
  return *record.evidence.matmul_peak_gflops / *record.evidence.baseline_matmul_peak_gflops;
}

std::span<const double> first_process_ms(const Record& row) {
  const Latency& latency = *row.latency;
  const std::span<const double> all = latency.raw_ms;
  if (!are_of_processes(all, latency.process_samples)) return all;
  return all.first(static_cast<std::size_t>(latency.process_samples.front()));
}

std::optional<double> short_warm_up(const Record& row) {
  constexpr double most = 1.25;
  if (row.setting.timed_inputs == InputsOf::data) return {};  // Batches differ, whenever they ran.
  const bool is_asked = row.setting.warmup_steps.has_value();
  const std::span<const double> samples_ms = first_process_ms(row);
  if (samples_ms.size() < (is_asked ? 1 : 20)) return {};
  const auto first = samples_ms.first(is_asked ? 1 : samples_ms.size() / 10);
  const auto later = samples_ms.subspan(is_asked ? 0 : samples_ms.size() / 2);
  const double ratio = median(first) / median(later);
  return ratio > most ? std::optional(ratio) : std::nullopt;
}

std::optional<Ratio> paired_ratio_of(const Record& a, const Record& b) {
  const auto of_b = kept_speedup(*b.speedup);
  if (of_b && is_baseline(a.setting)) return of_b;
  const auto of_a = kept_speedup(*a.speedup);
  if (of_a && of_a->value > 0 && is_baseline(b.setting)) return inverse(*of_a);
  return were_interleaved(a, b) ? ratio_of_samples(*a.latency, *b.latency) : std::nullopt;
}

bool is_tie(const Record& a, const Record& b) {
  if (!a.latency->ci_low_ms || !a.latency->ci_high_ms || !b.latency->ci_low_ms || !b.latency->ci_high_ms) return true;
  if (!were_interleaved(a, b)) return true;
  if (const auto paired = paired_ratio_of(a, b); paired && paired->interval)
    return paired->interval->low <= 1 && paired->interval->high >= 1;
  return *a.latency->ci_low_ms <= *b.latency->ci_high_ms && *b.latency->ci_low_ms <= *a.latency->ci_high_ms;
}

std::string ratio_words(const Record& a, const Record& b) {
  const auto paired = were_interleaved(a, b) ? paired_ratio_of(a, b) : std::nullopt;
  if (!paired || !paired->interval) return "";
  return fmt::format(", 95 % [{}, {}]", format_significant(paired->interval->low),
                     format_significant(paired->interval->high));
}

std::string generation_cell_words(const Setting& setting) {
  return fmt::format("{} at batch {}, depth {}, a prompt of {} and {} new tokens", name(setting.mode), setting.batch,
                     setting.depth.value_or(0), setting.prompt_tokens.value_or(0), setting.new_tokens.value_or(0));
}

std::string at_shape(const Record& row) {
  if (is_of_program(row.setting.mode)) return row.setting.phase ? " in phase " + *row.setting.phase : "";
  if (is_of_generation(row.setting.mode)) return " in " + generation_cell_words(row.setting);
  return fmt::format(" at {} x {}", row.setting.batch, row.setting.seq);
}

Rulings judge_in_full(std::span<const Record> found) {
  std::vector<Record> records(found.begin(), found.end());  // Each step sees what the one before it has judged.
  FoundInRecords findings(found);
  for (Record& record : records) withhold_what_is_not_finite(record);
  // Each step changes records that the cells point at; who counts as measured is looked at anew after the gate.
  for_samples(records, [&](const Cell& cell, Record& record) {
    if (record.outcome.status == Status::ok || record.outcome.status == Status::impossible)
      apply_gate(cell, record, findings);
  });
  for_samples(records, withhold_comparison);
  for_samples(records, [&](const Cell& cell, Record& record) { apply_trust(cell, record, findings); });
  const std::vector<Cell> cells = cells_of(records);
  for (const Cell& cell : cells) {
    if (is_shorter_of(cell, cells)) continue;
    const Cell own = without_engines(cell);
    const Cell trusted = without_doubtful(own);
    for (const Rule& rule : finding_rules()) collect(rule, trusted, findings);
    for (const auto part : {suspicion_rules(), energy_rules(), device_rules()}) {
      for (const Rule& rule : part) collect(rule, own, findings);
    }
    for (const Rule& rule : file_rules()) collect(rule, cell, findings);
    for (const Rule& rule : expectation_rules()) collect(rule, own, findings);
  }
  Rulings rulings{.rows = {}, .findings = findings.take()};
  rulings.rows.reserve(records.size());
  for (std::size_t i = 0; i < records.size(); ++i) rulings.rows.push_back(ruling_of(found[i], records[i]));
  return rulings;
}

Rulings judge(std::span<const Record> records) {
  Rulings rulings = judge_in_full(records);
  std::erase_if(rulings.findings, [](const Finding& finding) { return finding.kind == RuleKind::trust; });
  drop_repeated(rulings.findings);
  return rulings;
}

std::vector<Record> with_rulings(std::vector<Record> records, std::span<const Ruling> rulings) {
  ASSAY_ASSERT(records.size() == rulings.size());
  for (std::size_t i = 0; i < records.size(); ++i) {
    Record& record = records[i];
    record.outcome.status = rulings[i].status;
    record.outcome.reason = rulings[i].reason;
    record.grade = rulings[i].grade;
    if (rulings[i].comparison == Standing::is_void) drop_comparison(record);
    if (rulings[i].quality == Standing::is_void) drop_quality(record);
  }
  return records;
}

Document judged(Document document) {
  Rulings rulings = judge(document.records);
  document.records = with_rulings(std::move(document.records), rulings.rows);
  std::erase_if(document.findings, is_by_a_rule);
  document.findings.insert(document.findings.begin(), std::make_move_iterator(rulings.findings.begin()),
                           std::make_move_iterator(rulings.findings.end()));
  return document;
}

Document believed(Document document) {
  document.records = derived_again(std::move(document.records));
  if (!document.tells() || is_graded(document.records)) document = judged(std::move(document));
  const std::vector<std::string> rows = rows_of_verdict(document);
  if (!rows.empty() && !document.records.empty()) tell_verdict(rows, document);
  if (document.origin && document.origin->seal.state == Seal::State::broken)
    document.findings.insert(document.findings.begin(), broken_document(*document.origin));
  return document;
}

}  // namespace assay
