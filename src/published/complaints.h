#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "published/published_table.h"
#include "published/table_rules.h"

namespace assay {

/// One sentence about a published table.
struct Complaint {
  std::string id;  ///< Of the rule.
  Severity severity = Severity::info;
  std::string file;
  int table = 1;    ///< In its file, from 1.
  std::string row;  ///< As printed; empty: the whole table.
  std::string column;
  std::string evidence;  ///< The figures behind it.
  std::string sentence;
  std::string remedy;
};

/// How many times known figures could be held against each other, and against what a device has.
struct Tested {
  std::int64_t relations = 0;
  std::int64_t limits = 0;
};

/// What a rule says of a table, collected.
class Complaints {
 public:
  /// From here on `rule` speaks about `table`.
  void begin(const TableRule& rule, const PublishedTable& table);
  /// About the whole table.
  void table(std::string sentence, std::string evidence, std::optional<Severity> severity = {});
  /// About one figure.
  void figure(const Measured& measured, std::string sentence, std::string evidence,
              std::optional<Severity> severity = {});
  /// About a row.
  void row(const Observation& row, std::string sentence, std::string evidence, std::optional<Severity> severity = {});
  /// Of the rule that speaks.
  std::string_view rule_id() const { return rule_->id; }
  /// Figures that a relation ties are known, all of them; likewise a figure and its limit.
  void relation_tested() { ++tested_.relations; }
  void limit_tested() { ++tested_.limits; }
  Tested tested() const { return tested_; }
  std::vector<Complaint> take() { return std::move(all_); }

 private:
  Complaint begun(std::string sentence, std::string evidence, std::optional<Severity> severity) const;

  const TableRule* rule_ = nullptr;
  const PublishedTable* table_ = nullptr;
  std::vector<Complaint> all_;
  Tested tested_;
};

}  // namespace assay
