#include "results/exchange.h"

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "results/document.h"
#include "results/fields.h"
#include "results/read_records.h"
#include "results/store_files_test.h"

namespace assay {
namespace {

using Exchange = StoreFolder;

std::size_t merge_all(Store& store, const std::vector<ExchangedRun>& runs) {
  std::size_t taken = 0;
  for (const ExchangedRun& one : runs) taken += store.merge(one.run, one.records, "theirs");
  return taken;
}

TEST_F(Exchange, AnotherMachinesStoreIsMergedOnce) {
  Store theirs(folder_ / "theirs.db", Access::write);
  const std::int64_t run = theirs.begin_run(run_facts());
  theirs.save(run, made_up_cell());
  Store ours(file_, Access::write);
  ours.save(ours.begin_run(run_facts()), made_up_cell());
  EXPECT_EQ(merge_all(ours, read_exchange(theirs.file())), 4U);
  EXPECT_EQ(ours.find({}).size(), 8U);
  EXPECT_EQ(merge_all(ours, read_exchange(theirs.file())), 0U);
  Record more = made_up_record("fp16", 70);
  theirs.save(run, std::span(&more, 1));
  EXPECT_EQ(merge_all(ours, read_exchange(theirs.file())), 1U) << "what came since";
  EXPECT_EQ(ours.find({}).size(), 9U);
  EXPECT_EQ(ours.run(2)->command, run_facts().command);
}

TEST_F(Exchange, AJsonExportHoldsEverything) {
  Store store(file_, Access::write);
  const std::int64_t run = store.begin_run(run_facts());
  store.save(run, made_up_cell());
  store.end_run(run);
  const std::vector<StoredRecord> records = store.find({});
  write_file_atomically(folder_ / "all.json", exchange_json(records, store.runs_of(records), {}).dump());
  const std::vector<ExchangedRun> read = read_exchange(folder_ / "all.json");
  ASSERT_EQ(read.size(), 1U);
  EXPECT_EQ(read[0].run.uid, store.run(run)->uid);
  EXPECT_EQ(read[0].run.ended, store.run(run)->ended);
  EXPECT_EQ(read[0].run.machine, run_facts().machine);
  ASSERT_EQ(read[0].records.size(), records.size());
  for (std::size_t i = 0; i < records.size(); ++i) {
    EXPECT_EQ(to_json(read[0].records[i].record), to_json(records[i].record));
    EXPECT_EQ(read[0].records[i].saved, records[i].saved);
  }
}

TEST_F(Exchange, ADocumentOfBenchIsOneRunHoweverOftenItIsRead) {
  Document document;
  document.records = made_up_cell();
  write_file_atomically(folder_ / "out.json", to_json(document).dump());
  Store store(file_, Access::write);
  EXPECT_EQ(merge_all(store, read_exchange(folder_ / "out.json")), 4U);
  EXPECT_EQ(merge_all(store, read_exchange(folder_ / "out.json")), 0U);
}

TEST_F(Exchange, ARunOrAFileIsReadByOneReader) {
  Store store(file_, Access::write);
  const std::int64_t run = store.begin_run(run_facts());
  store.save(run, made_up_cell());
  const std::vector<StoredRecord> records = store.find({});
  write_file_atomically(folder_ / "all.json", exchange_json(records, store.runs_of(records), {}).dump());
  const NamedRecords by_number = read_records("1", file_);
  NamedRecords by_file = read_records((folder_ / "all.json").string(), file_);
  EXPECT_EQ(by_number.name, "run 1");
  ASSERT_EQ(by_number.document.records.size(), 4U);
  EXPECT_EQ(by_number.document.origin->command, run_facts().command);
  by_file.document.origin = by_number.document.origin;
  EXPECT_EQ(to_json(by_file.document), to_json(by_number.document)) << "records, machine, no findings";
  EXPECT_EQ(failure([&] { read_records("7", file_); }), file_.string() + ": has no run 7; assay history lists them");
  EXPECT_NE(failure([&] { read_records("8" + std::string(40, '0'), file_); }).find("o such file"), std::string::npos);
}

TEST_F(Exchange, WhatCannotBeLookedAtIsNamedAndNoDefect) {
  write_file_atomically(folder_ / "file", "x");
  const std::filesystem::path below = folder_ / "file" / "results.db";
  const std::filesystem::path too_long = folder_ / std::string(300, 'n');
  EXPECT_EQ(failure([&] { Store(below, Access::read); }), below.string() + ": there is no such store");
  EXPECT_EQ(failure([&] { Store(too_long, Access::read); }), too_long.string() + ": File name too long");
  EXPECT_EQ(failure([&] { read_exchange(too_long); }), too_long.string() + ": File name too long");
  EXPECT_EQ(failure([&] { read_exchange(below); }), below.string() + ": there is no such file");
}

TEST_F(Exchange, AnythingElseIsNamed) {
  for (const char* text : {"{}", "[1]", R"({"schema": "assay-records-1"})", R"({"schema": 3})",
                           R"({"schema": "assay-store-1", "runs": [], "records": [{"run": "x", "saved": ""}]})"}) {
    write_file_atomically(folder_ / "some.json", text);
    EXPECT_EQ(failure([&] { read_exchange(folder_ / "some.json"); }),
              (folder_ / "some.json").string() + ": neither a store nor what --json or assay export writes")
        << text;
  }
}

}  // namespace
}  // namespace assay
