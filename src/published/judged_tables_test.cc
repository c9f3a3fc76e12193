#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

#include "base/file.h"
#include "published/checked_test.h"

namespace assay {
namespace {

const std::string folder = ASSAY_SOURCE_DIR "/src/published/judged_tables/";

/// A table of the folder, and the rule that names its fault; "honest" for one that has none.
struct JudgedTable {
  std::string file;
  std::string rule;
};

std::vector<JudgedTable> judged_tables() {
  std::istringstream lines(read_file(folder + "index.csv"));
  std::vector<JudgedTable> all;
  std::string line;
  std::getline(lines, line);  // The header.
  while (std::getline(lines, line)) all.push_back({line.substr(0, line.find(',')), line.substr(line.find(',') + 1)});
  return all;
}

std::string told(const std::vector<Complaint>& complaints) {
  std::string text;
  for (const Complaint& one : complaints) {
    if (one.severity >= Severity::medium) text += one.id + ": " + one.sentence + "\n";
  }
  return text;
}

TEST(JudgedTables, FaultsAreNamedByTheirRuleAndHonestOnesAreNotAccused) {
  const std::vector<JudgedTable> all = judged_tables();
  EXPECT_GE(all.size(), 60U);
  for (const JudgedTable& one : all) {
    const auto complaints =
        check_published({.files = {folder + one.file}, .columns = {}, .device = {}, .model = {}}).complaints;
    if (one.rule == "honest") {
      EXPECT_FALSE(has_high(complaints)) << one.file << "\n" << told(complaints);
      continue;
    }
    const bool is_named = std::any_of(complaints.begin(), complaints.end(), [&](const Complaint& complaint) {
      return complaint.id == one.rule && complaint.severity >= Severity::medium;
    });
    EXPECT_TRUE(is_named) << one.file << " lacks " << one.rule << "\n" << told(complaints);
  }
}

TEST(JudgedTables, AreAllInTheIndex) {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) files += entry.path().filename() != "index.csv";
  EXPECT_EQ(files, judged_tables().size());
}

}  // namespace
}  // namespace assay
