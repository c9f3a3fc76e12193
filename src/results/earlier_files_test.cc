#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"
#include "base/json.h"
#include "base/testing.h"
#include "results/document.h"
#include "results/fields.h"
#include "results/identity.h"
#include "results/sqlite.h"
#include "results/store.h"

namespace assay {
namespace {

// Files that were written when a record was one list of members: earlier/document.json by `bench --json`,
// earlier/store.db by bench, train --benchmark and measure.
const std::filesystem::path folder = ASSAY_SOURCE_DIR "/src/results/earlier";

/// All that stood there stands there; fields that are younger are blank.
void expect_kept(const Json& now, const Json& before) {
  const Json blank = to_json(Record{});
  for (const auto& [key, value] : before.items()) {
    ASSERT_TRUE(now.contains(key)) << key;
    EXPECT_TRUE(key == "records" || now[key] == value) << key;
  }
  for (const auto& [key, value] : now.items()) {
    EXPECT_TRUE(before.contains(key) || value == blank[key]) << key;
  }
  const Json none = Json::array();
  for (std::size_t i = 0; i < before.value("records", none).size(); ++i)
    expect_kept(now["records"][i], before["records"][i]);
}

TEST(EarlierFiles, ADocumentIsReadAndWrittenAgainAsItWas) {
  const std::string file = (folder / "document.json").string();
  const Json json = parse_json(read_file(file), file);
  expect_kept(Json(to_json(document_from_json(json, file))), json);
}

TEST(EarlierFiles, RecordsOfAStoreKeepTheirFieldsAndIdentity) {
  const TemporaryFolder temporary;
  const std::filesystem::path file = temporary.path() / "store.db";
  std::filesystem::copy_file(folder / "store.db", file);
  const std::vector<StoredRecord> found = Store(file, Access::read).find({});
  const Database database(file, Access::read);
  Statement rows = database.prepare("SELECT subject, identity, fields FROM record ORDER BY id");
  for (const StoredRecord& stored : found) {
    ASSERT_TRUE(rows.step());
    EXPECT_EQ(subject_key(stored.record), rows.text(0));
    EXPECT_EQ(identity_key(stored.record), rows.text(1));
    expect_kept(Json(to_json(stored.record)), parse_json(rows.text(2), "record"));
    EXPECT_EQ(stored.record.seal.state, Seal::State::absent);
  }
  EXPECT_FALSE(rows.step());
}

TEST(EarlierFiles, ARecordHasThePartsThatWereMeasured) {
  const TemporaryFolder temporary;
  const std::filesystem::path file = temporary.path() / "store.db";
  std::filesystem::copy_file(folder / "store.db", file);
  const std::vector<StoredRecord> found = Store(file, Access::read).find({});
  ASSERT_EQ(found.size(), 4U);
  const Record& bench = found[1].record;
  const Record& train = found[2].record;
  const Record& program = found[3].record;
  for (const Record* record : {&bench, &train, &program}) EXPECT_TRUE(record->latency && record->circumstances);
  EXPECT_TRUE(bench.speedup && !bench.training && !bench.quality && !bench.program_run);
  EXPECT_TRUE(train.training && train.memory && !train.difference && !train.program_run);
  EXPECT_TRUE(program.program_run && !program.training && !program.quality);
}

}  // namespace
}  // namespace assay
