#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "results/made_up_test.h"
#include "rules/rules.h"

namespace assay {

/// Leaves the records as they may be shown, and says what is found in them.
inline std::vector<Finding> judge_and_keep(std::vector<Record>& records) {
  Rulings rulings = judge(records);
  records = with_rulings(std::move(records), rulings.rows);
  return std::move(rulings.findings);
}

// What the rules say of made-up records, for their tests.

inline std::string sentence(const std::vector<Finding>& findings, const std::string& rule,
                            const std::string& precision = "") {
  for (const Finding& finding : findings) {
    if (finding.rule == rule && finding.precision == precision) return finding.text;
  }
  return "";
}

inline std::string sentence(std::vector<Record> records, const std::string& rule, const std::string& precision = "") {
  return sentence(judge_and_keep(records), rule, precision);
}

inline testing::AssertionResult says(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "'" << text << "' lacks '" << part << "'";
}

}  // namespace assay
