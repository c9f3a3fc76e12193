#include "studies/history/document.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "results/derive.h"
#include "results/made_up_test.h"

namespace assay {
namespace {

std::vector<StoredRecord> stored() {
  std::vector<StoredRecord> all;
  for (const Record& record : with_derived(made_up_cell()))
    all.push_back({static_cast<std::int64_t>(all.size()) + 1, 1, "2026-01-02T03:04:05.678Z", record});
  all.push_back({5, 2, "2026-01-02T04:04:05.678Z", made_up_left_out("fp8", Status::unsupported, "no such type")});
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

using HistoryRow = std::vector<Table::Cell>;

/// Rows of what history shows of them.
std::vector<HistoryRow> rows_of(std::vector<StoredRecord> records) {
  return to_document(believed_history(std::move(records)), runs()).tables.at(0).rows;
}

const Table::Cell& cell_of(const HistoryRow& row, const std::string& key) {
  const Document any = to_document(stored(), runs());
  const auto& columns = any.tables.at(0).columns;
  const auto at = std::find_if(columns.begin(), columns.end(), [&](const auto& column) { return column.key == key; });
  return row.at(static_cast<std::size_t>(at - columns.begin()));
}

std::string note_in(const HistoryRow& row) {
  const auto* note = std::get_if<std::string>(&cell_of(row, "note"));
  return note ? *note : "";
}

TEST(History, ListsRecordsAndTheirRuns) {
  const Document document = to_document(stored(), runs());
  ASSERT_EQ(document.tables.size(), 2U);
  const std::vector<HistoryRow>& rows = document.tables[0].rows;
  ASSERT_EQ(rows.size(), 5U);
  EXPECT_EQ(std::get<std::string>(cell_of(rows[0], "quality")), "perplexity 18.21");
  EXPECT_EQ(std::get<Estimate>(cell_of(rows[0], "median_ms")).value, 150);
  EXPECT_EQ(note_in(rows[0]), "");
  EXPECT_EQ(note_in(rows[4]), "unsupported: no such type");
  EXPECT_TRUE(std::get<std::string>(document.tables[1].rows[1][2]).starts_with("was ended before it was done"));
  EXPECT_TRUE(to_document(std::span<const StoredRecord>(), {}).tables.empty());
}

TEST(History, MarksWhatIsNotAsItWasWritten) {
  std::vector<StoredRecord> records = stored();
  for (const HistoryRow& row : rows_of(records)) EXPECT_EQ(note_in(row).find("changed"), std::string::npos);
  records[1].record.latency.made().median_ms = 2;
  records[2].source = "theirs.json";
  const std::vector<HistoryRow> rows = rows_of(records);
  EXPECT_EQ(std::get<Estimate>(cell_of(rows[1], "median_ms")).value, 48) << "what follows from the samples is shown";
  EXPECT_NE(note_in(rows[1]).find("changed after it was written"), std::string::npos);
  EXPECT_NE(note_in(rows[2]).find("imported from theirs.json"), std::string::npos);
}

}  // namespace
}  // namespace assay
