#include "report/records/described.h"

#include <utility>

#include "report/records/remarks.h"
#include "report/records/results_table.h"

namespace assay {

Document described(const Document& document, Detail detail) {
  Document told = document;
  const std::span<const Record> records = document.records;
  if (!document.tells()) {
    for (Table& table : results_tables(records)) told.tables.push_back(std::move(table));
    told.sentences.push_back(left_out_remarks(records, detail));
    const Sentences reading = reading_remarks(records, detail);
    std::vector<std::string>& notes = told.sentences.back().texts;
    notes.insert(notes.end(), reading.texts.begin(), reading.texts.end());
    told.sentences.push_back(ran_remarks(records, detail));
    told.sentences.push_back(trust_remarks(records, detail));
  }
  told.sentences.push_back(finding_remarks(document.findings, detail));
  told.sentences.push_back(expectation_remarks(document.findings, detail));
  return told;
}

}  // namespace assay
