#include "published/complaints.h"

namespace assay {

void Complaints::begin(const TableRule& rule, const PublishedTable& table) {
  rule_ = &rule;
  table_ = &table;
}

Complaint Complaints::begun(std::string sentence, std::string evidence, std::optional<Severity> severity) const {
  return {.id = rule_->id,
          .severity = severity.value_or(rule_->severity),
          .file = table_->file,
          .table = table_->number,
          .row = {},
          .column = {},
          .evidence = std::move(evidence),
          .sentence = std::move(sentence),
          .remedy = rule_->remedy};
}

void Complaints::table(std::string sentence, std::string evidence, std::optional<Severity> severity) {
  all_.push_back(begun(std::move(sentence), std::move(evidence), severity));
}

void Complaints::figure(const Measured& measured, std::string sentence, std::string evidence,
                        std::optional<Severity> severity) {
  Complaint complaint = begun(std::move(sentence), std::move(evidence), severity);
  complaint.row = measured.row;
  complaint.column = measured.column;
  all_.push_back(std::move(complaint));
}

void Complaints::row(const Observation& row, std::string sentence, std::string evidence,
                     std::optional<Severity> severity) {
  Complaint complaint = begun(std::move(sentence), std::move(evidence), severity);
  complaint.row = row.label;
  all_.push_back(std::move(complaint));
}

}  // namespace assay
