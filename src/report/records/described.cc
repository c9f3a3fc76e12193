#include "report/records/described.h"

#include <algorithm>
#include <utility>

#include "report/records/remarks.h"
#include "report/records/results_table.h"
#include "rules/verdict.h"

namespace assay {

namespace {

/// Why a row was left out is said where it would stand.
bool is_reason(const Finding& finding, std::span<const Record> records) {
  return std::any_of(records.begin(), records.end(), [&](const Record& record) {
    return record.outcome.status != Status::ok && record.outcome.reason == finding.text;
  });
}

/// Findings that no other sentence says.
std::vector<Finding> unsaid_findings(const Document& document) {
  std::vector<Finding> unsaid = document.findings;
  if (!tells_in_their_place(document))
    std::erase_if(unsaid, [&](const Finding& finding) { return is_reason(finding, document.records); });
  for (const Sentences& sentences : document.sentences) {
    std::erase_if(unsaid, [&](const Finding& finding) {
      return std::find(sentences.texts.begin(), sentences.texts.end(), finding.text) != sentences.texts.end();
    });
  }
  return unsaid;
}

}  // namespace

Document described(const Document& document, Detail detail) {
  Document shown = document;
  const std::span<const Record> records = document.records;
  if (!tells_in_their_place(document)) {
    for (Table& table : results_tables(records)) shown.tables.push_back(std::move(table));
    shown.sentences.push_back(left_out_remarks(records, detail));
    const Sentences reading = reading_remarks(records, detail);
    std::vector<std::string>& notes = shown.sentences.back().texts;
    notes.insert(notes.end(), reading.texts.begin(), reading.texts.end());
    shown.sentences.push_back(ran_remarks(records, detail));
    shown.sentences.push_back(trust_remarks(records, detail));
  }
  const std::vector<Finding> findings = unsaid_findings(document);
  shown.sentences.push_back(finding_remarks(findings, detail));
  shown.sentences.push_back(expectation_remarks(findings, detail));
  return shown;
}

}  // namespace assay
