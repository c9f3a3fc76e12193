#include "results/rules.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "results/rule_tables.h"

namespace assay {
namespace {

std::vector<Rule> all_rules() {
  std::vector<Rule> all;
  for (const auto part : {gate_rules(), trust_rules(), finding_rules(), expectation_rules()}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

auto key_of(const Record& record) {
  return std::tie(record.model, record.weights, record.device, record.batch, record.seq, record.threads, record.logits,
                  record.fusion, record.casts);
}

/// Cells in the order in which their first rows stand.
std::vector<Cell> cells_of(const std::vector<Record>& records) {
  std::vector<Cell> cells;
  for (const Record& record : records) {
    auto cell = std::find_if(cells.begin(), cells.end(),
                             [&](const Cell& known) { return key_of(*known.records.front()) == key_of(record); });
    if (cell == cells.end()) cell = cells.insert(cells.end(), Cell{});
    cell->records.push_back(&record);
    if (record.status != Status::ok) continue;
    cell->measured.push_back(&record);
    if (record.precision == record.baseline) cell->baseline = &record;
  }
  return cells;
}

void apply_gate(const Cell& cell, Record& record) {
  for (const Rule& rule : gate_rules()) {
    const Judgement judgement = rule.judge(cell, record);
    if (judgement.text.empty()) continue;
    record.status = Status::impossible;
    record.reason = judgement.text;
    return;
  }
}

std::string ground_of_trust(const Record& record) {
  std::string ground = fmt::format("{} samples", record.samples);
  if (record.ci_low_ms && record.ci_high_ms) {
    ground += fmt::format(", interval of the median {} wide",
                          percent((*record.ci_high_ms - *record.ci_low_ms) / *record.median_ms));
  }
  if (record.foreign_load) ground += fmt::format(", others used {} of the processors", percent(*record.foreign_load));
  return ground;
}

void apply_trust(const Cell& cell, Record& record) {
  char grade = 'A';
  record.trust_reasons.clear();
  if (record.status == Status::impossible) {
    grade = 'D';
    record.trust_reasons.push_back(*record.reason);
  }
  for (const Rule& rule : trust_rules()) {
    const Judgement judgement = rule.judge(cell, record);
    if (judgement.text.empty()) continue;
    grade = std::max(grade, rule.grade);
    record.trust_reasons.push_back(fmt::format("{} at best: {}", rule.grade, judgement.text));
  }
  if (grade == 'A') record.trust_reasons.push_back(ground_of_trust(record));
  record.trust = std::string(1, grade);
}

Finding finding_of(const Rule& rule, const Record& row, Judgement judgement) {
  return {.rule = rule.id,
          .kind = rule.kind,
          .model = row.model,
          .batch = row.batch,
          .seq = row.seq,
          .precision = rule.scope == RuleScope::row ? row.precision : "",
          .met = judgement.met,
          .text = std::move(judgement.text)};
}

void collect(const Rule& rule, const Cell& cell, std::vector<Finding>& findings) {
  std::vector<const Record*> rows = cell.measured;
  if (rule.scope == RuleScope::cell && !rows.empty()) rows = {cell.baseline ? cell.baseline : rows.front()};
  for (const Record* row : rows) {
    Judgement judgement = rule.judge(cell, *row);
    if (!judgement.text.empty()) findings.push_back(finding_of(rule, *row, std::move(judgement)));
  }
}

void drop_repeated(std::vector<Finding>& findings) {
  std::set<std::tuple<std::string, std::string, std::string>> seen;
  std::erase_if(findings, [&](const Finding& finding) {
    return !seen.emplace(finding.rule, finding.model, finding.text).second;
  });
}

}  // namespace

const char* name(RuleKind kind) {
  constexpr const char* names[] = {"gate", "trust", "finding", "expectation"};
  return names[static_cast<std::size_t>(kind)];
}

std::span<const Rule> rules() {
  static const std::vector<Rule> all = all_rules();
  return all;
}

const Precision* precision_row(const Record& record) {
  const std::string base = record.precision.substr(0, record.precision.find('['));
  for (const Precision& row : precision_table()) {
    if (base == row.name) return &row;
  }
  return nullptr;
}

std::optional<bool> is_quality_equal(const Record& record) {
  if (record.delta_log_perplexity && record.delta_log_perplexity_se) {
    return std::abs(*record.delta_log_perplexity) <= 2 * *record.delta_log_perplexity_se;
  }
  if (record.mcnemar_p) return *record.mcnemar_p > 0.05;
  return std::nullopt;
}

std::optional<double> matmul_ratio(const Record& record) {
  if (record.matmul_peak_gflops.value_or(0) <= 0 || record.baseline_matmul_peak_gflops.value_or(0) <= 0) return {};
  return *record.matmul_peak_gflops / *record.baseline_matmul_peak_gflops;
}

bool is_tie(const Record& a, const Record& b) {
  if (!a.ci_low_ms || !a.ci_high_ms || !b.ci_low_ms || !b.ci_high_ms) return true;
  return *a.ci_low_ms <= *b.ci_high_ms && *b.ci_low_ms <= *a.ci_high_ms;
}

std::vector<Finding> judge(std::vector<Record>& records) {
  // Gate and trust change the records that the cells point at; the cells see it, but for who counts as measured.
  for (const Cell& cell : cells_of(records)) {
    for (Record& record : records) {
      const bool is_of_cell = key_of(record) == key_of(*cell.records.front());
      if (!is_of_cell || record.samples == 0) continue;
      if (record.status == Status::ok) apply_gate(cell, record);
      apply_trust(cell, record);
    }
  }
  std::vector<Finding> findings;
  for (const Cell& cell : cells_of(records)) {
    for (const Rule& rule : finding_rules()) collect(rule, cell, findings);
    for (const Rule& rule : expectation_rules()) collect(rule, cell, findings);
  }
  drop_repeated(findings);
  return findings;
}

}  // namespace assay
