#include "studies/study/evaluate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "base/units.h"
#include "results/fields.h"
#include "results/json_places.h"
#include "results/table.h"

namespace assay {
namespace {

/// A row of a document, as its JSON has it.
struct StudyRow {
  Json values;
  std::vector<std::string> labels;  ///< Keys of what the row is about.
  std::string unit;                 ///< Of the figure.
};

/// What a record is about; of these, what is not filtered by must agree where two are compared_figures.
const std::vector<std::string>& record_labels() {
  static const std::vector<std::string> labels = {"model", "weights", "precision", "device",       "batch",  "seq",
                                                  "mode",  "fusion",  "recompute", "warmup_steps", "caches", "phase"};
  return labels;
}

bool matches(const Json& row, const Json& filter) {
  return std::all_of(filter.items().begin(), filter.items().end(),
                     [&](const auto& item) { return value_at(row, item.key()) == item.value(); });
}

std::string unit_of_field(const std::string& field) {
  const auto fields = record_fields();
  const auto found = std::find_if(fields.begin(), fields.end(), [&](const Field& one) { return field == one.name; });
  return found == fields.end() ? "" : found->unit;
}

void add_records(const Document& document, const StudyRows& wanted, std::vector<StudyRow>& rows) {
  for (const Record& record : document.records)
    rows.push_back({Json(to_json(record)), record_labels(), unit_of_field(wanted.field)});
}

void add_table(const Document& document, const StudyRows& wanted, std::vector<StudyRow>& rows) {
  const Json json = to_json(document);
  for (const Table& table : document.tables) {
    if (table.key != wanted.table) continue;
    StudyRow row;
    for (const Table::Column& column : table.columns) {
      if (column.role == Table::Role::label) row.labels.push_back(column.key);
      if (column.key == wanted.field) row.unit = column.unit;
    }
    for (const Json& values : value_at(json, table.key)) {
      row.values = values;
      rows.push_back(row);
    }
  }
}

std::vector<StudyRow> all_rows(const StudyRows& wanted, std::span<const StudyPart> parts) {
  std::vector<StudyRow> rows;
  for (const StudyPart& part : parts) {
    if (std::find(wanted.cells.begin(), wanted.cells.end(), part.label) == wanted.cells.end()) continue;
    wanted.table == "records" ? add_records(part.document, wanted, rows) : add_table(part.document, wanted, rows);
  }
  return rows;
}

std::vector<StudyRow> rows_like(const std::vector<StudyRow>& rows, const Json& filter) {
  std::vector<StudyRow> found;
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(found),
               [&](const StudyRow& row) { return matches(row.values, filter); });
  return found;
}

/// A row's figure, or why it is not used.
struct Observed {
  std::optional<Estimate> figure;
  std::string why_not;
};

double end_of(const Json& row, const std::string& field, const char* which, double fallback) {
  const std::string key = field == "median_ms" ? fmt::format("ci_{}_ms", which) : fmt::format("{}_{}", field, which);
  const Json& value = value_at(row, key);
  return value.is_number() ? value.get<double>() : fallback;
}

std::string why_none(const StudyRow& row, const std::string& field) {
  const Json& meter = value_at(row.values, "energy_status");
  const bool is_energy = field.find("energy") != std::string::npos && meter.is_string() &&
                         meter.get<std::string>().starts_with("no meter");
  return is_energy ? meter.get<std::string>() : "no " + field;
}

Observed observed(const StudyRow& row, const StudyRows& wanted) {
  const std::string& field = wanted.field;
  const Json& status = value_at(row.values, "status");
  const Json& grade = value_at(row.values, "trust");
  const Json& value = value_at(row.values, field);
  if (status.is_string() && status != "ok") return {{}, status.get<std::string>()};
  if (grade.is_string() && grade == "D") return {{}, "grade D"};
  if (!value.is_number()) return {{}, why_none(row, field)};
  const auto figure = value.get<double>();
  if (wanted.read == StudyFigure::size) return {Estimate{std::abs(figure), std::abs(figure), std::abs(figure)}, ""};
  return {Estimate{figure, end_of(row.values, field, "low", figure), end_of(row.values, field, "high", figure)}, ""};
}

std::string value_word(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

/// What of a row's labels is worth saying: what differs between the rows, but for `but`.
std::string row_label(const StudyRow& row, const std::vector<StudyRow>& among, const std::set<std::string>& but) {
  std::vector<std::string> words;
  for (const std::string& key : row.labels) {
    const Json& value = value_at(row.values, key);
    const bool differs = std::any_of(among.begin(), among.end(),
                                     [&](const StudyRow& other) { return value_at(other.values, key) != value; });
    if (!differs || value.is_null() || but.contains(key) || key == "weights") continue;
    words.push_back(value.is_number() ? fmt::format("{} {}", key, value_word(value)) : value_word(value));
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string with_unit(const Estimate& figure, const std::string& unit) {
  if (unit == "B" || unit == "bytes") return format_bytes(figure.value);
  if (unit == "x") return format_significant(figure.value) + "x";
  return format_significant(figure.value) + (unit.empty() ? "" : " " + unit);
}

bool agree_but(const StudyRow& a, const StudyRow& b, const std::set<std::string>& but) {
  return std::all_of(a.labels.begin(), a.labels.end(), [&](const std::string& key) {
    return but.contains(key) || value_at(a.values, key) == value_at(b.values, key);
  });
}

std::set<std::string> keys_of(const Json& one, const Json& other) {
  std::set<std::string> keys;
  for (const auto& item : one.items()) keys.insert(item.key());
  for (const auto& item : other.items()) keys.insert(item.key());
  return keys;
}

/// One row_comparison.
struct StudyComparison {
  StudyOutcome verdict = StudyOutcome::not_tested;
  std::string words;
};

StudyOutcome verdict_by(bool holds, bool fails) {
  return holds ? StudyOutcome::as_expected : fails ? StudyOutcome::not_as_expected : StudyOutcome::undecided;
}

StudyOutcome compared_figures(const Estimate& a, const Estimate& b, const StudyExpectation& expectation) {
  const double by = expectation.by;
  switch (expectation.claim) {
    case StudyExpectation::Claim::below:
      return verdict_by(a.high < b.low * (1 - by), a.low >= b.high * (1 - by));
    case StudyExpectation::Claim::above:
      return verdict_by(a.low > b.high * (1 + by), a.high <= b.low * (1 + by));
    case StudyExpectation::Claim::within: {
      const double most = std::max(std::abs(a.low - b.high), std::abs(a.high - b.low));
      const double least = std::max({0.0, a.low - b.high, b.low - a.high});
      return verdict_by(most <= by * std::abs(b.value), least > by * std::abs(b.value));
    }
  }
  return StudyOutcome::not_tested;
}

StudyComparison row_comparison(const StudyRow& row, const Observed& bound, const StudyExpectation& expectation,
                               const std::string& label) {
  const Observed own = observed(row, expectation.rows);
  const std::string begin = label.empty() ? "" : label + ": ";
  if (!own.figure) return {StudyOutcome::not_tested, begin + own.why_not};
  if (!bound.figure) return {StudyOutcome::not_tested, begin + "beside a row that is not used: " + bound.why_not};
  const std::string words =
      fmt::format("{}{} against {}", begin, with_unit(*own.figure, row.unit), with_unit(*bound.figure, row.unit));
  return {compared_figures(*own.figure, *bound.figure, expectation), words};
}

std::vector<StudyComparison> comparisons(const StudyExpectation& expectation, const std::vector<StudyRow>& all) {
  const std::set<std::string> filtered = keys_of(expectation.rows.of, expectation.than);
  const std::vector<StudyRow> rows = rows_like(all, expectation.rows.of);
  const std::vector<StudyRow> others = rows_like(all, expectation.than);
  std::vector<StudyComparison> found;
  for (const StudyRow& row : rows) {
    const std::string label = row_label(row, rows, filtered);
    if (expectation.value) {
      const double value = *expectation.value;
      found.push_back(row_comparison(row, {Estimate{value, value, value}, ""}, expectation, label));
      continue;
    }
    for (const StudyRow& other : others) {
      if (&row != &other && agree_but(row, other, filtered) && row.values != other.values)
        found.push_back(row_comparison(row, observed(other, expectation.rows), expectation, label));
    }
  }
  return found;
}

/// "x; y; z, and 3 more", each once.
std::string listed(std::vector<std::string> words) {
  constexpr std::size_t most = 4;
  std::vector<std::string> once;
  for (std::string& one : words) {
    if (std::find(once.begin(), once.end(), one) == once.end()) once.push_back(std::move(one));
  }
  const std::size_t more = once.size() > most ? once.size() - most : 0;
  once.resize(once.size() - more);
  return fmt::format("{}{}", fmt::join(once, "; "), more == 0 ? "" : fmt::format("; and {} more", more));
}

std::vector<std::string> words_with(const std::vector<StudyComparison>& found, StudyOutcome verdict) {
  std::vector<std::string> words;
  for (const StudyComparison& one : found) {
    if (one.verdict == verdict) words.push_back(one.words);
  }
  return words;
}

/// What the cells of rows that are missing say of themselves.
std::string why_no_rows(const StudyRows& wanted, std::span<const StudyPart> parts) {
  for (const StudyPart& part : parts) {
    const bool is_one = std::find(wanted.cells.begin(), wanted.cells.end(), part.label) != wanted.cells.end();
    if (is_one && !part.reason.empty()) return fmt::format("{}: {}", part.label, part.reason);
  }
  return "no such rows";
}

StudyVerdict overall_verdict(const std::vector<StudyComparison>& found) {
  const auto yes = words_with(found, StudyOutcome::as_expected);
  const auto no = words_with(found, StudyOutcome::not_as_expected);
  const auto open = words_with(found, StudyOutcome::undecided);
  if (yes.empty() && no.empty() && open.empty())
    return {StudyOutcome::not_tested, listed(words_with(found, StudyOutcome::not_tested))};
  std::string observed = listed(yes);
  if (!no.empty()) observed = (yes.empty() ? "" : observed + "; but not ") + listed(no);
  if (!open.empty()) observed += (observed.empty() ? "" : "; left open by the intervals: ") + listed(open);
  if (yes.empty() && no.empty()) return {StudyOutcome::undecided, observed};
  if (!yes.empty() && (!no.empty() || !open.empty())) return {StudyOutcome::in_part, observed};
  return {no.empty() ? StudyOutcome::as_expected : StudyOutcome::not_as_expected, observed};
}

// ---- questions ----

/// A row that may be used, with its figure.
struct StudyContestant {
  const StudyRow* row = nullptr;
  Estimate figure;
};

bool is_better(const Estimate& a, const Estimate& b, StudyQuestion::Best best) {
  return best == StudyQuestion::Best::lowest ? a.value < b.value : a.value > b.value;
}

std::string winner_words(const std::vector<StudyContestant>& group, const StudyQuestion& question) {
  const auto first = std::min_element(
      group.begin(), group.end(),
      [&](const StudyContestant& a, const StudyContestant& b) { return is_better(a.figure, b.figure, question.best); });
  const auto named = [&](const StudyContestant& one) { return value_word(value_at(one.row->values, question.among)); };
  std::vector<std::string> ties;
  for (const StudyContestant& one : group) {
    const bool reaches = one.figure.low <= first->figure.high && one.figure.high >= first->figure.low;
    if (reaches && one.row != first->row) ties.push_back(named(one));
  }
  return fmt::format("{} ({}{})", named(*first), with_unit(first->figure, first->row->unit),
                     ties.empty() ? "" : fmt::format("; not told apart from {}", fmt::join(ties, ", ")));
}

std::string figure_words(const std::vector<StudyContestant>& group, const StudyQuestion& question) {
  std::vector<std::string> words;
  for (const StudyContestant& one : group)
    words.push_back(fmt::format("{} {}", value_word(value_at(one.row->values, question.among)),
                                with_unit(one.figure, one.row->unit)));
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string group_words(const std::vector<StudyContestant>& group, const StudyQuestion& question) {
  return question.best == StudyQuestion::Best::none ? figure_words(group, question) : winner_words(group, question);
}

struct LeftOutRow {
  std::string label;
  std::string why_not;
};

/// A reason that all have is said once.
std::string left_out_words(const std::vector<LeftOutRow>& rows) {
  std::vector<std::string> words;
  words.reserve(rows.size());
  bool same = rows.size() > 1;
  for (const LeftOutRow& row : rows) {
    words.push_back(fmt::format("{} ({})", row.label, row.why_not));
    same = same && row.why_not == rows.front().why_not;
  }
  return same ? fmt::format("{} rows ({})", rows.size(), rows.front().why_not) : listed(std::move(words));
}

std::vector<std::vector<StudyContestant>> groups_of(const std::vector<StudyRow>& rows, const StudyQuestion& question,
                                                    std::vector<LeftOutRow>& left_out) {
  std::vector<std::vector<StudyContestant>> groups;
  for (const StudyRow& row : rows) {
    const Observed own = observed(row, question.rows);
    if (!own.figure) {
      left_out.push_back({row_label(row, rows, {}), own.why_not});
      continue;
    }
    auto group = std::find_if(groups.begin(), groups.end(), [&](const std::vector<StudyContestant>& one) {
      return agree_but(*one.front().row, row, {question.among});
    });
    if (group == groups.end()) group = groups.insert(groups.end(), std::vector<StudyContestant>{});
    group->push_back({&row, *own.figure});
  }
  return groups;
}

}  // namespace

const char* name(StudyOutcome verdict) {
  constexpr const char* names[] = {"as expected", "in part", "not as expected", "undecided", "not tested"};
  return names[static_cast<std::size_t>(verdict)];
}

StudyVerdict verdict_on(const StudyExpectation& expectation, std::span<const StudyPart> parts) {
  const std::vector<StudyComparison> found = comparisons(expectation, all_rows(expectation.rows, parts));
  if (found.empty()) return {StudyOutcome::not_tested, why_no_rows(expectation.rows, parts)};
  return overall_verdict(found);
}

std::string answer_to(const StudyQuestion& question, std::span<const StudyPart> parts) {
  const std::vector<StudyRow> rows = rows_like(all_rows(question.rows, parts), question.rows.of);
  if (rows.empty()) return "not answered: " + why_no_rows(question.rows, parts);
  std::vector<LeftOutRow> left_out;
  std::vector<std::string> answers;
  for (const std::vector<StudyContestant>& group : groups_of(rows, question, left_out)) {
    const std::string label = row_label(*group.front().row, rows, {question.among});
    answers.push_back((label.empty() ? "" : label + ": ") + group_words(group, question));
  }
  const std::string without = left_out.empty() ? "" : "; left out: " + left_out_words(left_out);
  return answers.empty() ? "not answered" + without : listed(answers) + without;
}

}  // namespace assay
