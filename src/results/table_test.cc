#include "results/table.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/testing.h"
#include "results/json_places.h"
#include "results/tables_testing.h"

namespace assay {
namespace {

Json parsed(const OrderedJson& json) {
  return parse_json(json.dump(), "made up");
}

TEST(TableJson, ADocumentReadBackFromItsJsonGivesTheSameJson) {
  const OrderedJson json = to_json(every_kind_of_document());
  EXPECT_EQ(parsed(to_json(document_from_json(parsed(json), "made up"))), parsed(json));
}

TEST(TableJson, EveryCellStandsUnderItsKeyWithItsType) {
  const OrderedJson json = to_json(every_kind_of_document());
  EXPECT_EQ(json["seed"], 42) << "facts of the subject stand at the top";
  EXPECT_EQ(json["losses"], (OrderedJson{3.25, 2.125}));
  EXPECT_EQ(json["inner"]["layers.*.ln"], 4.5) << "a dot within a name opens nothing";
  const OrderedJson& row = json["inner"]["rows"][0];
  EXPECT_EQ(row["time_ms"], 12.34);
  EXPECT_EQ(row["time_low_ms"], 12.05);
  EXPECT_EQ(row["time_high_ms"], 12.61);
  EXPECT_EQ(row["growth"]["step"], 1234567);
  EXPECT_EQ(row["is_exact"], true);
  EXPECT_EQ(row["words"], (OrderedJson{"one", "two"}));
  EXPECT_TRUE(row["reason"].is_null());
  EXPECT_EQ(json["methods"]["rounds"], 5);
  EXPECT_EQ(json["warnings"], OrderedJson::array()) << "a list without sentences is there";
}

TEST(TableJson, WhatIsAbsentIsNullAndSaysWhy) {
  const OrderedJson json = to_json(every_kind_of_document());
  const OrderedJson& refused = json["inner"]["rows"][1];
  EXPECT_EQ(refused["status"], "oom");
  EXPECT_EQ(refused["reason"], "9 GB are needed");
  EXPECT_TRUE(refused["time_ms"].is_null());
  EXPECT_TRUE(refused["growth"].is_null()) << "an object of which nothing is there";
  EXPECT_EQ(refused["width"], 18446744073709551615U) << "no digit is lost";
  std::string reasons;
  for (const OrderedJson& null : json["document"]["tables"][0]["nulls"]) reasons += null.dump() + "\n";
  EXPECT_NE(reasons.find(R"({"row":1,"columns":["secret"],"reason":"never measured"})"), std::string::npos) << reasons;
  EXPECT_NE(reasons.find(R"({"row":1,"columns":["limit"],"value":"inf"})"), std::string::npos) << reasons;
}

TEST(TableJson, ADescriptionThatDoesNotFitIsRefusedInWords) {
  const Json good = parsed(to_json(every_kind_of_document()));
  std::string deep = "a";
  for (int i = 0; i < 100'000; ++i) deep += ".a";
  const std::pair<const char*, Json> changes[] = {
      {"/document/tables/0/key", "nowhere"},
      {"/document/tables/0/form", "cubes"},
      {"/document/tables/0/columns/0/key", deep},
      {"/document/tables/0/columns/2/more_keys", Json{"a", "b", "c"}},
      {"/document/tables/0/nulls", Json{{{"row", 99}, {"columns", Json::array()}, {"reason", ""}}}},
      {"/document/tables/1/columns/0/more_keys", Json{"reason"}},
      {"/document/tables/1/columns", Json::array()},
      {"/document/figures/0/kind", "pie"},
      {"/document/figures/0/references", 3},
      {"/document/figures/0/series/0/mark", "star"},
      {"/document/figures/0/series/0/points/0/is_hollow", "no"},
      {"/document/sentences/0/key", "seed"},
      {"/document/facts/columns", 3},
      {"/inner/rows/0/status", "splendid"}};
  for (const auto& [place, value] : changes) {
    Json bad = good;
    bad[Json::json_pointer(place)] = value;
    EXPECT_NE(user_error_of([&] { document_from_json(bad, "bad.json"); }).find("bad.json"), std::string::npos) << place;
  }
}

TEST(TableJson, ASmallFileDoesNotAskForATableOfBillionsOfCells) {
  Json bad = parsed(to_json(every_kind_of_document()));
  bad["inner"]["rows"] = Json(Json::array_t(20'000, Json::object()));
  const Json column = bad["document"]["tables"][0]["columns"][0];
  bad["document"]["tables"][0]["columns"] = Json(Json::array_t(20'000, column));
  EXPECT_NE(user_error_of([&] { document_from_json(bad, "bad.json"); }).find("bad.json"), std::string::npos);
}

TEST(Table, ARowOfAnotherLengthIsADefect) {
  Table table{.key = "rows", .columns = {{.key = "a"}, {.key = "b"}}};
  EXPECT_THROW(add_row(table, {1.0}), Error);
  EXPECT_THROW(add_row(table, {1.0, Estimate{1, 0, 2}}), Error) << "no keys for the ends of its interval";
}

TEST(JsonPlaces, APartOfAKeyIsTheNameThatItWasMadeOf) {
  for (const char* name : {"a", "a.b", "~", "~1", "a~0.b", "0", "4000000000", ""}) {
    OrderedJson object;
    member_at(object, "inner." + key_part(name)) = 1;
    EXPECT_EQ(object["inner"][name], 1) << name;
    EXPECT_EQ(value_at(parsed(object), "inner." + key_part(name)), 1) << name;
  }
}

TEST(JsonPlaces, NumbersOfPlacesCountElementsAndNotBeyondReason) {
  OrderedJson object;
  place_at(object, "tables.1.values") = "here";
  EXPECT_EQ(object.dump(), R"({"tables":[null,{"values":"here"}]})");
  EXPECT_EQ(value_at(parsed(object), "tables.1.values"), "here");
  EXPECT_TRUE(value_at(parsed(object), "tables.2.values").is_null());
  EXPECT_THROW(place_at(object, "tables.4000000000"), std::out_of_range);
  EXPECT_THROW(place_at(object, "tables.name"), std::out_of_range);
}

}  // namespace
}  // namespace assay
