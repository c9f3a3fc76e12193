#include "results/seal.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "results/derive.h"
#include "results/fields.h"
#include "results/made_up_test.h"
#include "results/store.h"

namespace assay {
namespace {

Json as_written(const Document& document) {
  return Json::parse(to_json(document).dump(2));
}

Document sealable_document() {
  Document document;
  document.origin = RunOrigin{.date = "2026-11-23T08:00:00Z", .command = "assay bench gpt2", .commit = "abc"};
  document.records = derived_again(made_up_cell());
  for (Record& record : document.records) record.seal.changed.clear();
  return document;
}

TEST(Seal, HoldsWhereTheFileIsAsItWasWritten) {
  const Document read = document_from_json(as_written(sealed(sealable_document())), "run.json");
  EXPECT_EQ(read.origin->seal.state, Seal::State::holds);
  for (const Record& record : read.records) EXPECT_EQ(record.seal.state, Seal::State::holds);
  EXPECT_EQ(as_written(sealed(read)), as_written(read)) << "written again it is the same";
}

TEST(Seal, AnyFieldOfARecordThatChangesBreaksIt) {
  const Json before = Json(to_json(sealed(sealable_document().records[1])));
  for (const auto& [key, value] : before.items()) {
    if (key == "seal") continue;
    Json changed = before;
    changed[key] = value.is_string() ? Json(value.get<std::string>() + "x") : Json("x");
    EXPECT_EQ(seal_read(changed).state, Seal::State::broken) << key;
  }
  Json more = before;
  more["another"] = 1;
  EXPECT_EQ(seal_read(more).state, Seal::State::broken);
  more = before;
  more["run"] = more["saved"] = more["source"] = "a store's";
  EXPECT_EQ(seal_read(more).state, Seal::State::holds);
}

TEST(Seal, OfADocumentIsOverAllOfIt) {
  const Json before = as_written(sealed(sealable_document()));
  for (const char* place : {"/origin/date", "/origin/command", "/origin/commit", "/machine", "/records/0/median_ms"}) {
    Json changed = before;
    changed[Json::json_pointer(place)] = "another";
    EXPECT_EQ(origin_read(changed)->seal.state, Seal::State::broken) << place;
  }
  Json fewer = before;
  fewer["records"].erase(1);
  EXPECT_EQ(origin_read(fewer)->seal.state, Seal::State::broken);
}

TEST(Seal, ThatIsBrokenStaysBrokenAndOneThatIsAbsentIsNotMade) {
  Json changed = as_written(sealed(sealable_document()));
  changed["records"][0]["median_ms"] = 1;
  changed["records"][1].erase("seal");
  const Document read = document_from_json(changed, "run.json");
  const Document again = document_from_json(as_written(sealed(read)), "again.json");
  EXPECT_EQ(again.records[0].seal.state, Seal::State::broken);
  EXPECT_EQ(again.records[1].seal.state, Seal::State::absent);
  EXPECT_EQ(again.records[2].seal.state, Seal::State::holds);
  EXPECT_EQ(again.origin->seal.state, Seal::State::broken);
}

TEST(Derived, FiguresThatWereChangedAreComputedAgainAndSaid) {
  const std::vector<Record> honest = sealable_document().records;
  for (const Record& record : derived_again(honest)) EXPECT_TRUE(record.seal.changed.empty());
  std::vector<Record> records = honest;
  *records[1].latency.made().median_ms /= 20;
  records[1].rates.gflops = 1e6;
  records[2].speedup.made().speedup_low = 9;
  records = derived_again(records);
  EXPECT_EQ(to_json(records[1]), to_json(honest[1]));
  ASSERT_EQ(records[1].seal.changed.size(), 2U);
  EXPECT_TRUE(records[1].seal.changed[0].starts_with("median_ms was written as ")) << records[1].seal.changed[0];
  ASSERT_EQ(records[2].seal.changed.size(), 1U);
  EXPECT_EQ(records[2].speedup->speedup_low, honest[2].speedup->speedup_low);
}

TEST(Derived, AMethodThatIsNotKnownIsLeftAlone) {
  std::vector<Record> records = sealable_document().records;
  records[0].latency.made().interval_by = "another 7";
  records[0].latency.made().ci_low_ms = 1;
  records = derived_again(records);
  EXPECT_EQ(records[0].latency->ci_low_ms, 1);
  EXPECT_TRUE(records[0].seal.changed.empty());
}

TEST(Derived, ASpeedUpIsOverTheSamplesThatItKeepsWhereNoRowHasThem) {
  std::vector<Record> records = sealable_document().records;
  const std::vector<double> baseline = records[0].latency->raw_ms;
  const double honest = *records[1].speedup->speedup;
  records.erase(records.begin());
  records[0].speedup.made().speedup = 9;
  EXPECT_EQ(derived_again(records)[0].speedup->speedup, 9) << "there is nothing to compute it from";
  records[0].speedup.made().baseline_raw_ms = baseline;
  EXPECT_EQ(derived_again(records)[0].speedup->speedup, honest);
}

}  // namespace
}  // namespace assay
