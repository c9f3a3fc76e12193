#include "studies/verify/run.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/json.h"
#include "base/testing.h"
#include "results/derive.h"
#include "results/exchange.h"
#include "results/fields.h"
#include "results/made_up_test.h"
#include "results/seal.h"

namespace assay {
namespace {

class Verify : public testing::Test {
 protected:
  Verify() {
    document_.origin = RunOrigin{.date = "2026-11-23T08:00:00Z", .command = "assay bench", .commit = "abc"};
    document_.records = derived_again(made_up_cell());
    for (Record& record : document_.records) record.seal.changed.clear();
  }
  /// Of a file with that content.
  Verification of(const Json& json) {
    const std::filesystem::path file = temporary_.path() / "run.json";
    write_file_atomically(file, json.dump());
    return verify(file);
  }
  Json written() const { return Json::parse(to_json(sealed(document_)).dump()); }

  TemporaryFolder temporary_;
  Document document_;
};

TEST_F(Verify, WhatIsAsItWasWrittenHolds) {
  const Verification all = of(written());
  EXPECT_TRUE(all.holds());
  EXPECT_EQ(all.things.size(), 1 + document_.records.size());
  EXPECT_EQ(to_document(all).tables.size(), 1U) << "nothing is doubtful";
}

TEST_F(Verify, AFigureThatWasChangedIsNamedWithWhatFollows) {
  Json json = written();
  json["records"][1]["median_ms"] = json["records"][1]["median_ms"].get<double>() / 20;
  const Verification all = of(json);
  EXPECT_FALSE(all.holds());
  EXPECT_EQ(all.things[0].seal.state, Seal::State::broken) << "the file's";
  EXPECT_EQ(all.things[2].seal.state, Seal::State::broken);
  ASSERT_EQ(all.things[2].seal.changed.size(), 1U);
  EXPECT_TRUE(all.things[2].seal.changed[0].starts_with("median_ms was written as ")) << all.things[2].seal.changed[0];
  EXPECT_TRUE(all.things[1].holds());
}

TEST_F(Verify, WithoutSealsTheFiguresAreStillComputed) {
  Json json = written();
  json.erase("origin");
  for (Json& record : json["records"]) record.erase("seal");
  EXPECT_TRUE(of(json).holds());
  json["records"][0]["gflops"] = 1e9;
  EXPECT_FALSE(of(json).holds());
}

TEST_F(Verify, AStoreIsVerifiedWithItsRuns) {
  const std::filesystem::path file = temporary_.path() / "results.db";
  {
    Store store(file, Access::write);
    const std::int64_t run = store.begin_run({"assay bench", "f00d", "{}"});
    store.save(run, document_.records);
    store.end_run(run);
  }
  EXPECT_TRUE(verify(file).holds());
  Database(file, Access::write).run("UPDATE run SET command = 'another'");
  EXPECT_EQ(verify(file).things[0].seal.state, Seal::State::broken);
  EXPECT_TRUE(verify(file).things[1].holds());
}

}  // namespace
}  // namespace assay
