#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/json.h"
#include "published/check.h"

namespace assay {

// What the checks say of a page of Markdown, for their tests.

inline std::vector<PublishedTable> read(const std::string& markdown, const TableContext& context = {}) {
  return read_tables(parse_tables(markdown, TextFormat::markdown, "page.md"), "page.md", context);
}

inline std::vector<Complaint> checked(const std::string& markdown, const TableContext& context = {}) {
  return check_tables(read(markdown, context)).complaints;
}

inline bool has_high(const std::vector<Complaint>& all) {
  return std::any_of(all.begin(), all.end(), [](const Complaint& one) { return one.severity == Severity::high; });
}

inline OrderedJson check_json(const std::string& markdown) {
  return to_json(to_document(check_tables(read(markdown))));
}

inline const Complaint* find(const std::vector<Complaint>& all, const std::string& id, const std::string& row = "") {
  for (const Complaint& one : all) {
    if (one.id == id && (row.empty() || one.row.find(row) != std::string::npos)) return &one;
  }
  return nullptr;
}

inline void expect(const std::vector<Complaint>& all, const std::string& id, Severity severity,
                   const std::string& part) {
  const Complaint* one = find(all, id);
  ASSERT_NE(one, nullptr) << id << " is silent";
  EXPECT_EQ(one->severity, severity) << one->sentence;
  EXPECT_NE(one->sentence.find(part), std::string::npos) << "'" << one->sentence << "' lacks '" << part << "'";
}

inline void expect_nothing_high(const std::string& markdown, const TableContext& context = {}) {
  for (const Complaint& one : checked(markdown, context))
    EXPECT_NE(one.severity, Severity::high) << one.id << ": " << one.sentence;
}

}  // namespace assay
