#include "report/history.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "report/text.h"
#include "results/fields.h"
#include "results/made_up_test.h"

namespace assay {
namespace {

std::vector<StoredRecord> stored() {
  std::vector<StoredRecord> all;
  for (const Record& record : made_up_cell()) {
    all.push_back({static_cast<std::int64_t>(all.size()) + 1, 1, "2026-01-02T03:04:05.678Z", record});
  }
  all.push_back(
      {5, 2, "2026-01-02T04:04:05.678Z",
       made_up_left_out("fp8", Status::unsupported, "a reason that says \"no\", at length: " + std::string(100, 'x'))});
  return all;
}

std::vector<StoredRun> runs() {
  StoredRun ended;
  ended.id = 1;
  ended.started = "2026-01-02T03:00:00.000Z";
  ended.ended = ended.started;
  ended.command = "assay bench smollm2-135m";
  StoredRun killed = ended;
  killed.id = 2;
  killed.ended.reset();
  return {ended, killed};
}

TEST(History, AnIntervalIsShownByItsEndsWhereItLiesUnevenlyAndAloneWhereItLeavesNoFigure) {
  std::vector<StoredRecord> records = stored();
  Latency& latency = records[0].record.latency.made();
  latency.median_ms = 12.8;
  latency.ci_low_ms = 12.5;
  latency.ci_high_ms = 17.8;
  EXPECT_NE(history_table(records, runs()).find("12.8 ms [12.5, 17.8]"), std::string::npos);
  latency.ci_high_ms = 57.8;
  const std::string table = history_table(records, runs());
  EXPECT_NE(table.find("[12.5, 57.8] ms"), std::string::npos) << table;
  EXPECT_EQ(table.find("12.8 ms"), std::string::npos) << table;
}

TEST(History, NothingInAStoreCommandsTheTerminal) {
  std::vector<StoredRecord> records = stored();
  for (StoredRecord& one : records) {
    one.record.setting.model = one.record.setting.device = one.record.setting.precision = "\x1b]0;title\x07";
    one.record.outcome.reason = "\x1b[2J";
  }
  std::vector<StoredRun> foreign = runs();
  foreign[0].command = "assay \x1b[31m";
  const std::string table = history_table(records, foreign);
  EXPECT_EQ(table.find_first_of("\x1b\x07"), std::string::npos) << table;
  EXPECT_NE(table.find("assay \\x1b[31m"), std::string::npos) << table;
}

TEST(History, ListsRecordsAndTheirRuns) {
  const std::string table = history_table(stored(), runs());
  for (const char* part : {"smollm2-135m", "mixed-bf16", "2026-01-02T03:04", "40.0 ms ±0.5%, 3.75x, not graded",
                           "unsupported: a reason", "run 1, 2026-01-02T03:00:00: assay bench",
                           "run 2, 2026-01-02T03:00:00 (was ended before it was done, or still runs)"}) {
    EXPECT_NE(table.find(part), std::string::npos) << part << " in\n" << table;
  }
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(display_width(line), 120U) << line;
  EXPECT_EQ(history_table({}, {}), "no record is like that\n");
}

TEST(History, CsvHasOneTypeAColumn) {
  const std::string csv = history_csv(stored());
  EXPECT_TRUE(csv.starts_with("record,run,saved,model,weights,parameters,"));
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 6);
  EXPECT_NE(csv.find("\r\n1,1,2026-01-02T03:04:05.678Z,smollm2-135m,sha256:0123456789abcdef,134515008,"),
            std::string::npos);
  EXPECT_NE(csv.find(",\"[149.94"), std::string::npos) << "series are JSON arrays";
  EXPECT_NE(csv.find(",true,"), std::string::npos);
  EXPECT_NE(csv.find("\"a reason that says \"\"no\"\", at length"), std::string::npos);
}

}  // namespace
}  // namespace assay
