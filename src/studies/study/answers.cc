#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "base/json.h"
#include "studies/study/evaluate.h"
#include "studies/study/request.h"

namespace assay {
namespace {

using Column = Table::Column;

Column label_column(const char* key) {
  return {.key = key, .role = Table::Role::label};
}

Table verdict_table(const StudyFile& study, const std::vector<StudyVerdict>& verdicts) {
  Table table{.key = "verdicts", .caption = "What was expected", .detail = Detail::data};
  table.columns = {label_column("expectation"), {.key = "verdict"}, {.key = "observed"}};
  for (std::size_t i = 0; i < verdicts.size(); ++i)
    add_row(table, {study.expectations[i].text, name(verdicts[i].verdict), verdicts[i].observed});
  return table;
}

Table answer_table(const StudyFile& study, const std::vector<std::string>& answers) {
  Table table{.key = "answers", .caption = "What was asked", .detail = Detail::data};
  table.columns = {label_column("question"), {.key = "answer"}};
  for (std::size_t i = 0; i < answers.size(); ++i) add_row(table, {study.questions[i].text, answers[i]});
  return table;
}

std::map<std::string, int> grades_of(std::span<const StudyPart> parts) {
  std::map<std::string, int> grades;
  for (const StudyPart& part : parts) {
    for (const Record& record : part.document.records) {
      if (record.grade.trust) ++grades[name(*record.grade.trust)];
    }
  }
  return grades;
}

std::string grade_words(std::span<const StudyPart> parts) {
  std::string words;
  for (const auto& [grade, count] : grades_of(parts))
    words += fmt::format("{}{} of grade {}", words.empty() ? "" : ", ", count, grade);
  return words.empty() ? "no row is graded" : words;
}

/// The first of those that allow no better grade than D.
std::string deciding_reason(const Grade& grade) {
  for (const std::string& reason : grade.trust_reasons) {
    if (reason.starts_with("D ")) return reason;
  }
  return grade.trust_reasons.empty() ? "" : grade.trust_reasons.front();
}

/// The rows of grade D of a cell, each once, and the first reason.
std::string unusable_words(const Document& document) {
  constexpr std::size_t most = 4;
  std::vector<std::string> rows;
  std::string reason;
  for (const Record& record : document.records) {
    if (record.grade.trust != Trust::d) continue;
    const Setting& setting = record.setting;
    std::string row = fmt::format("{} {} x {}", setting.precision, setting.batch, setting.seq);
    if (std::find(rows.begin(), rows.end(), row) == rows.end()) rows.push_back(std::move(row));
    if (reason.empty()) reason = deciding_reason(record.grade);
  }
  if (rows.empty()) return "";
  const std::string more = rows.size() > most ? fmt::format(" and {} more", rows.size() - most) : "";
  rows.resize(std::min(rows.size(), most));
  return fmt::format("{}{} ({})", fmt::join(rows, ", "), more, reason);
}

std::vector<std::string> unusable(std::span<const StudyPart> parts) {
  std::vector<std::string> sentences;
  for (const StudyPart& part : parts) {
    const std::string words = unusable_words(part.document);
    if (!words.empty()) sentences.push_back(fmt::format("{}: {}", part_name(part), words));
  }
  return sentences;
}

std::vector<std::string> not_measured(std::span<const StudyPart> parts) {
  std::vector<std::string> sentences;
  for (const StudyPart& part : parts) {
    if (!part.reason.empty())
      sentences.push_back(fmt::format("{} ({}): {}", part_name(part), name(part.state), part.reason));
  }
  return sentences;
}

/// Models whose weights are drawn.
std::string random_words(std::span<const StudyPart> parts) {
  std::vector<std::string> models;
  for (const StudyPart& part : parts) {
    for (const Record& record : part.document.records) {
      const Setting& setting = record.setting;
      if (setting.weights == "random" && record.memory->model_bytes &&
          std::find(models.begin(), models.end(), setting.model) == models.end())
        models.push_back(setting.model);
    }
  }
  return models.empty() ? "" : fmt::format("{}", fmt::join(models, ", "));
}

std::string study_machine(std::span<const StudyPart> parts) {
  for (const StudyPart& part : parts) {
    for (const Record& record : part.document.records) {
      if (!record.setting.machine.empty()) return record.setting.machine;
    }
  }
  return "";
}

void add_facts(Document& document, std::span<const StudyPart> parts) {
  Table& facts = document.subject.facts;
  const auto add = [&](const char* key, const std::string& words) {
    if (!words.empty()) add_fact(facts, {.key = key}, words);
  };
  add("machine_in_words", study_machine(parts));
  if (!facts.columns.empty()) facts.columns.front().title = "machine";
  add("grades", grade_words(parts));
  add("random weights", random_words(parts));
}

std::string kind_of_cell(const StudyFile& study, const std::string& cell) {
  const auto found = std::ranges::find(study.cells, cell, &StudyCell::name);
  return found == study.cells.end() ? "" : found->kind;
}

Table cell_table(const StudyFile& study, std::span<const StudyPart> parts) {
  Table table{.key = "cells", .caption = "Cells", .detail = Detail::details};
  table.columns = {
      label_column("cell"), {.key = "kind"}, {.key = "state"}, {.key = "reason"}, {.key = "seconds", .unit = "s"}};
  for (const StudyPart& part : parts) {
    add_row(table, {part_name(part), kind_of_cell(study, part.label), name(part.state), text_or_absent(part.reason),
                    part.seconds > 0 ? Table::Cell(part.seconds) : Table::Cell(Absent{})});
  }
  return table;
}

}  // namespace

std::string part_name(const StudyPart& part) {
  return part.machine.empty() ? part.label : fmt::format("{} on {}", part.label, part.machine);
}

Document answers_document(const StudyFile& study, std::span<const StudyPart> parts) {
  Document document{.subject = {.schema = "assay-study-1", .title = study.title}};
  add_facts(document, parts);
  std::vector<StudyVerdict> verdicts;
  std::vector<std::string> expected;
  for (const StudyExpectation& expectation : study.expectations) {
    verdicts.push_back(verdict_on(expectation, parts));
    expected.push_back(
        fmt::format("{}: {}. {}", expectation.text, name(verdicts.back().verdict), verdicts.back().observed));
  }
  std::vector<std::string> answers;
  std::vector<std::string> answered;
  for (const StudyQuestion& question : study.questions) {
    answers.push_back(answer_to(question, parts));
    answered.push_back(fmt::format("{} {}", question.text, answers.back()));
  }
  document.tables = {verdict_table(study, verdicts), answer_table(study, answers), cell_table(study, parts)};
  document.sentences = {{.key = "answered", .texts = answered, .title = "Questions"},
                        {.key = "expected", .texts = expected, .title = "Expectations"},
                        {.key = "not_measured", .texts = not_measured(parts), .title = "Not measured"},
                        {.key = "unusable", .texts = unusable(parts), .title = "Not to be used (grade D)"},
                        {.key = "about", .texts = study.about, .title = "About this study", .detail = Detail::details}};
  return document;
}

}  // namespace assay
