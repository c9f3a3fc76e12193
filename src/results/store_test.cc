#include "results/store.h"

#include <algorithm>
#include <atomic>
#include <fstream>
#include <thread>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/random.h"
#include "results/exchange.h"
#include "results/fields.h"
#include "results/seal.h"
#include "results/store_files_test.h"

namespace assay {
namespace {

using StoreTest = StoreFolder;

TEST_F(StoreTest, ARecordComesBackWhole) {
  Store store(file_, Access::write);
  const std::int64_t run = store.begin_run(run_facts());
  std::vector<Record> cell = made_up_cell();
  cell.push_back(made_up_decode("bf16", 4));
  EXPECT_EQ(store.save(run, cell), (std::vector<std::int64_t>{1, 2, 3, 4, 5}));
  const std::vector<StoredRecord> found = Store(file_, Access::read).find({});
  ASSERT_EQ(found.size(), cell.size());
  for (std::size_t i = 0; i < cell.size(); ++i) {
    EXPECT_EQ(to_json(found[i].record).dump(), to_json(sealed(cell[i])).dump());
    EXPECT_EQ(found[i].record.seal.state, Seal::State::holds);
    EXPECT_EQ(found[i].run, run);
    EXPECT_EQ(found[i].saved.size(), std::string("2026-01-02T03:04:05.678Z").size()) << found[i].saved;
  }
}

TEST_F(StoreTest, ARunSaysHowItCameAbout) {
  Store store(file_, Access::write);
  const std::int64_t id = store.begin_run(run_facts());
  std::optional<StoredRun> run = store.run(id);
  ASSERT_TRUE(run);
  EXPECT_EQ(run->command, "assay bench 'a model'");
  EXPECT_EQ(run->program, "f00d");
  EXPECT_EQ(run->machine, R"({"processor": "made up"})");
  EXPECT_FALSE(run->ended) << "it still runs";
  store.end_run(id);
  EXPECT_TRUE(store.run(id)->ended);
  EXPECT_FALSE(store.run(id + 1));
}

TEST_F(StoreTest, ARecordThatIsSavedAgainKeepsItsNumber) {
  Store store(file_, Access::write);
  const std::int64_t run = store.begin_run(run_facts());
  Record record = made_up_record("bf16", 40);
  const std::vector<std::int64_t> first = store.save(run, std::span(&record, 1));
  record.quality.made().quality_status = {QualityState::scored};
  EXPECT_EQ(store.save(run, std::span(&record, 1)), first);
  ASSERT_EQ(store.find({}).size(), 1U);
  EXPECT_EQ(store.find({})[0].record.quality->quality_status.state, QualityState::scored);
  EXPECT_NE(store.save(store.begin_run(run_facts()), std::span(&record, 1)), first) << "another run, another record";
}

TEST_F(StoreTest, FiltersFindWhatTheySay) {
  Store store(file_, Access::write);
  store.save(store.begin_run(run_facts()), made_up_cell());
  Record left_out = made_up_left_out("fp8", Status::unsupported, "no such device");
  left_out.setting.device = "cuda";
  store.save(store.begin_run(run_facts()), std::span(&left_out, 1));
  const auto count = [&](const Filter& filter) { return store.find(filter).size(); };
  EXPECT_EQ(count({}), 5U);
  EXPECT_EQ(count({.run = 2}), 1U);
  EXPECT_EQ(count({.model = "smollm2-135m"}), 5U);
  EXPECT_EQ(count({.model = "gpt2"}), 0U);
  EXPECT_EQ(count({.precision = "bf16"}), 1U);
  EXPECT_EQ(count({.device = "cuda"}), 1U);
  EXPECT_EQ(count({.status = Status::ok}), 4U);
  EXPECT_EQ(count({.precision = "bf16", .status = Status::oom}), 0U);
  EXPECT_EQ(count({.since = "2020-01-01"}), 5U);
  EXPECT_EQ(count({.since = "9999-01-01"}), 0U);
  EXPECT_EQ(count({.model = "' OR 1 --"}), 0U);
  ASSERT_EQ(count({.newest = 2}), 2U);
  EXPECT_EQ(store.find({.newest = 2})[1].record.setting.precision, "fp8") << "the latest, oldest first";
  EXPECT_EQ(store.runs_of(store.find({})).size(), 2U);
}

TEST_F(StoreTest, ARecordOfAnEarlierVersionLacksFieldsAndIsReadAllTheSame) {
  Store(file_, Access::write).save(Store(file_, Access::write).begin_run(run_facts()), made_up_cell());
  Database(file_, Access::write)
      .run("UPDATE record SET fields = json_set(json_remove(fields, '$.recompute', '$.p99_ms'), '$.unheard_of', 3)");
  const Record record = Store(file_, Access::read).find({})[0].record;
  EXPECT_EQ(record.setting.recompute, Setting{}.recompute);
  EXPECT_FALSE(record.latency->p99_ms);
  EXPECT_EQ(record.latency->median_ms, made_up_cell()[0].latency->median_ms);
}

TEST_F(StoreTest, WhatIsNoStoreIsOneLine) {
  write_file_atomically(file_,
                        "a text that is longer than a header of SQLite would be, and begins otherwise than one; "
                        "it goes on for a while so that the first page is read.");
  EXPECT_EQ(failure([&] { Store(file_, Access::write); }), file_.string() + ": is not a database");
  EXPECT_EQ(failure([&] { Store(folder_ / "absent.db", Access::read); }),
            (folder_ / "absent.db").string() + ": there is no such store");
  EXPECT_EQ(failure([&] { Store(folder_, Access::write); }), folder_.string() + ": cannot be opened");
  EXPECT_NE(failure([&] { Store(file_ / "below" / "results.db", Access::write); }).find("its folder cannot be made"),
            std::string::npos);
}

TEST_F(StoreTest, AnotherProgramsDatabaseIsLeftAlone) {
  Database(file_, Access::write).run("CREATE TABLE places (url TEXT); PRAGMA user_version = 40");
  const std::string before = read_file(file_);
  EXPECT_EQ(failure([&] { Store(file_, Access::write); }), file_.string() + ": a database of another program");
  EXPECT_EQ(read_file(file_), before);
}

TEST_F(StoreTest, ANewerLayoutIsLeftAlone) {
  Store(file_, Access::write).begin_run(run_facts());
  Database(file_, Access::write).run("PRAGMA user_version = 99");
  for (const Access access : {Access::read, Access::write}) {
    EXPECT_NE(failure([&] { Store(file_, access); }).find("written by a newer assay (its layout has version 99"),
              std::string::npos);
  }
}

TEST_F(StoreTest, ADamagedStoreNeverCrashes) {
  {
    Store store(file_, Access::write);
    for (int i = 0; i < 3; ++i) store.save(store.begin_run(run_facts()), made_up_cell());
    Database(file_, Access::write).run("PRAGMA wal_checkpoint(TRUNCATE)");
  }
  const std::string sound = read_file(file_);
  Random random(7);
  int refused = 0;
  for (int i = 0; i < 150; ++i) {
    std::string damaged = sound;
    for (int hit = 0; hit < 20; ++hit) damaged[random.below(damaged.size())] = static_cast<char>(random.next_u32());
    if (i % 10 == 0) damaged.resize(random.below(damaged.size()));
    write_file_atomically(file_, damaged);
    const std::string said = failure([&] {
      Store store(file_, Access::write);
      store.find({});
      store.save(store.begin_run(run_facts()), made_up_cell());
    });
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 0) << said;
    EXPECT_TRUE(said.empty() || said.starts_with(file_.string())) << said;
    if (said.find("is damaged") != std::string::npos) {
      EXPECT_EQ(read_file(file_), damaged) << "refused, and changed";
    }
    refused += said.empty() ? 0 : 1;
    for (const char* more : {"-wal", "-shm", "-journal"}) std::filesystem::remove(file_.string() + more);
  }
  EXPECT_GT(refused, 50) << "the damage was not where it hurts";
}

/// What a reader is told, in any way, of what it reads.
bool is_doubted(const Store& store, const std::vector<StoredRecord>& found) {
  const auto is_altered = [](const StoredRecord& stored) {
    return stored.record.seal.state != Seal::State::holds || !stored.record.seal.changed.empty();
  };
  const std::vector<StoredRun> runs = store.runs_of(found);
  return std::any_of(found.begin(), found.end(), is_altered) ||
         std::any_of(runs.begin(), runs.end(),
                     [](const StoredRun& run) { return run.seal.state != Seal::State::holds; });
}

std::string all_of(const Store& store) {
  const std::vector<StoredRecord> found = store.find({});
  return exchange_json(found, store.runs_of(found), {}).dump();
}

TEST_F(StoreTest, ByteThatFlipsIsRefusedDoubtedOrWithoutEffect) {
  {
    Store store(file_, Access::write);
    const std::int64_t run = store.begin_run(run_facts());
    store.save(run, made_up_cell());
    store.end_run(run);
  }
  const std::string honest = all_of(Store(file_, Access::read));
  const std::string sound = read_file(file_);
  Random random(11);
  int noticed = 0;
  for (int i = 0; i < 120; ++i) {
    std::string flipped = sound;
    flipped[random.below(flipped.size())] ^= static_cast<char>(1 << random.below(8));
    write_file_atomically(file_, flipped);
    std::string said = failure([&] {
      const Store store(file_, Access::read);
      const std::vector<StoredRecord> found = store.find({});
      const bool doubted = is_doubted(store, found);
      noticed += doubted ? 1 : 0;
      EXPECT_TRUE(doubted || all_of(store) == honest) << "flip " << i << " changed what is read, in silence";
    });
    noticed += said.empty() ? 0 : 1;
  }
  EXPECT_GT(noticed, 30) << "the flips were not where it hurts";
}

TEST_F(StoreTest, AnImportReplacesNothing) {
  Store store(file_, Access::write);
  const std::int64_t run = store.begin_run(run_facts());
  store.save(run, made_up_cell());
  const std::vector<StoredRecord> own = store.find({});
  StoredRecord other = own[1];
  other.saved = "zzzz";
  *other.record.latency.made().median_ms *= 2;
  const std::vector<StoredRecord> imported = {own[0], other};
  EXPECT_EQ(store.merge(*store.run(run), imported, "laptop.db"), 1U);
  EXPECT_EQ(store.merge(*store.run(run), imported, "laptop.db"), 0U) << "it is here by now";
  const std::vector<StoredRecord> all = store.find({});
  ASSERT_EQ(all.size(), own.size() + 1);
  for (std::size_t i = 0; i < own.size(); ++i) {
    EXPECT_EQ(to_json(all[i].record), to_json(own[i].record));
    EXPECT_FALSE(all[i].source);
  }
  EXPECT_EQ(all.back().source, "laptop.db");
  EXPECT_EQ(store.save(run, std::vector<Record>{own[1].record}), std::vector<std::int64_t>{own[1].id});
}

TEST_F(StoreTest, StandsWhereTheXdgSpecificationSays) {
  const auto with = [](const char* variable, const char* value) {
    value == nullptr ? ::unsetenv(variable) : ::setenv(variable, value, 1);
  };
  const char* home = std::getenv("HOME");
  const std::string old_home = home == nullptr ? "" : home;
  with("XDG_DATA_HOME", "/data");
  EXPECT_EQ(default_store_file(), "/data/assay/results.db");
  with("XDG_DATA_HOME", "relative");
  with("HOME", "/home/someone");
  EXPECT_EQ(default_store_file(), "/home/someone/.local/share/assay/results.db");
  with("XDG_DATA_HOME", nullptr);
  with("HOME", nullptr);
  EXPECT_EQ(failure([] { default_store_file(); }),
            "HOME: is not set, and neither is XDG_DATA_HOME; --store FILE names a store");
  if (home != nullptr) with("HOME", old_home.c_str());
}

// A store as version 1 left it: runs had no settings.
constexpr const char* version_1 = R"(
CREATE TABLE run (id INTEGER PRIMARY KEY, uid TEXT NOT NULL UNIQUE, started TEXT NOT NULL, ended TEXT,
  command TEXT NOT NULL, program TEXT NOT NULL, machine TEXT NOT NULL) STRICT;
CREATE TABLE record (id INTEGER PRIMARY KEY, run INTEGER NOT NULL REFERENCES run(id), saved TEXT NOT NULL,
  subject TEXT NOT NULL, identity TEXT NOT NULL, model TEXT NOT NULL, weights TEXT NOT NULL, precision TEXT NOT NULL,
  device TEXT NOT NULL, batch INTEGER NOT NULL, seq INTEGER NOT NULL, mode TEXT NOT NULL, status TEXT NOT NULL,
  machine TEXT NOT NULL, build TEXT NOT NULL, fields TEXT NOT NULL) STRICT;
CREATE INDEX record_run ON record(run, identity);
CREATE INDEX record_subject ON record(subject);
CREATE INDEX record_model ON record(model, precision);
CREATE INDEX record_saved ON record(saved);
INSERT INTO run VALUES (7, 'abc', '2026-01-02T03:04:05.678Z', NULL, 'assay bench', 'f00d', '{}');
INSERT INTO record VALUES (9, 7, '2026-01-02T03:05:05.678Z', 's', 'i', 'gpt2', 'random', 'bf16', 'cpu', 1, 128,
  'inference', 'ok', 'm', 'b', '{"model": "gpt2", "precision": "bf16", "raw_ms": [1.5, 2.5]}');
PRAGMA application_id = 1634956153;
PRAGMA user_version = 1;
)";

TEST_F(StoreTest, AnOlderLayoutIsReadAsItIsAndBroughtUpToDateByWhoWrites) {
  Database(file_, Access::write).run(version_1);
  const std::string before = read_file(file_);
  for (const Access access : {Access::read, Access::write}) {
    const Store store(file_, access);
    const std::vector<StoredRecord> records = store.find({.model = "gpt2"});
    ASSERT_EQ(records.size(), 1U);
    EXPECT_EQ(records[0].id, 9);
    EXPECT_EQ(records[0].record.latency->raw_ms, (std::vector<double>{1.5, 2.5}));
    EXPECT_EQ(store.run(7)->uid, "abc");
    EXPECT_EQ(store.run(7)->settings, "");
    if (access == Access::read) {
      EXPECT_EQ(read_file(file_), before);
    }
  }
  EXPECT_EQ(Database(file_, Access::read).number("PRAGMA user_version"), store_version);
}

TEST_F(StoreTest, AnOlderLayoutIsMigratedOnceByManyAtTheSameTime) {
  Database(file_, Access::write).run(version_1);
  std::vector<std::thread> threads;
  std::atomic<int> opened = 0;
  threads.reserve(8);
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] { opened += Store(file_, Access::write).find({}).size() == 1 ? 1 : 0; });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(opened, 8);
}

TEST_F(StoreTest, ReadingLeavesNothingBehind) {
  std::ofstream(file_).flush();
  EXPECT_EQ(failure([&] { Store(file_, Access::read); }), file_.string() + ": is empty, not a store");
  EXPECT_EQ(read_file(file_), "");
  { Store(file_, Access::write).begin_run(run_facts()); }
  const std::string before = read_file(file_);
  { EXPECT_TRUE(Store(file_, Access::read).run(1)); }
  EXPECT_EQ(read_file(file_), before);
  const auto files = std::filesystem::directory_iterator(folder_);
  EXPECT_EQ(std::distance(begin(files), end(files)), 1);
  const Database reader(file_, Access::read);
  EXPECT_FALSE(failure([&] { reader.run("DELETE FROM run"); }).empty());
}

TEST_F(StoreTest, ARunIsResumedByItsProgramAndSettings) {
  Store store(file_, Access::write);
  RunFacts facts = run_facts();
  facts.settings = "five seconds";
  store.begin_run(facts);
  const std::int64_t second = store.begin_run(facts);
  facts.settings = "one second";
  store.begin_run(facts);
  facts.settings = "five seconds";
  ASSERT_TRUE(store.newest_run(facts));
  EXPECT_EQ(store.newest_run(facts)->id, second);
  facts.program = "beef";
  EXPECT_FALSE(store.newest_run(facts));
}

TEST_F(StoreTest, ARunIsResumedOnItsOwnMachineOnly) {
  Store store(file_, Access::write);
  RunFacts facts = run_facts();
  facts.machine = R"({"processor": "made up", "cores": 2, "available_bytes": 1000})";
  const std::int64_t own = store.begin_run(facts);
  facts.machine = R"({"processor": "made up", "cores": 4, "available_bytes": 1000})";
  store.begin_run(facts);
  facts.machine = R"({"processor": "made up", "cores": 2, "available_bytes": 2000})";
  ASSERT_TRUE(store.newest_run(facts));
  EXPECT_EQ(store.newest_run(facts)->id, own);
  facts.machine = R"({"processor": "another", "cores": 2})";
  EXPECT_FALSE(store.newest_run(facts));
}

/// A busy machine says nothing of a quiet one, nor does a row of a few samples of anything.
TEST_F(StoreTest, EarlierFiguresAreThoseOfRunsAsQuietAsThis) {
  Store store(file_, Access::write);
  const auto keep = [&](double foreign_load, bool has_interval) {
    Record record = made_up_record("bf16", 40);
    record.circumstances.made().foreign_load = foreign_load;
    if (!has_interval) record.latency.made().ci_low_ms.reset();
    store.save(store.begin_run(run_facts()), std::span(&record, 1));
    return record.setting.machine;
  };
  keep(0.01, true);
  keep(0.9, true);
  const std::string machine = keep(0.01, false);
  const std::int64_t now = store.begin_run(run_facts());
  EXPECT_EQ(store.earlier_figures({machine, now, false}).median_ms.size(), 1U);
  EXPECT_EQ(store.earlier_figures({machine, now, true}).median_ms.size(), 2U);
  EXPECT_EQ(store.earlier_figures({machine, 1, false}).median_ms.size(), 0U) << "its own run is left out";
}

TEST_F(StoreTest, WhatWasImportedIsNotResumed) {
  Store other(folder_ / "other.db", Access::write);
  const StoredRun foreign = *other.run(other.begin_run(run_facts()));
  Store store(file_, Access::write);
  EXPECT_EQ(store.merge(foreign, {}, "other.db"), 0U);
  ASSERT_TRUE(store.run(1));
  EXPECT_FALSE(store.newest_run(run_facts()));
}

}  // namespace
}  // namespace assay
