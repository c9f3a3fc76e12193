#include "results/document.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "results/fields.h"
#include "results/made_up_test.h"

namespace assay {
namespace {

TEST(Document, ComesBackAsItWasWritten) {
  Document document;
  document.machine = {{"processor", "A"}, {"cores", 2}};
  document.records = made_up_cell();
  document.findings = made_up_findings();
  const std::string text = to_json(document).dump();
  EXPECT_EQ(Json::parse(to_json(document_from_json(parse_json(text, "run.json"), "run.json")).dump()),
            Json::parse(text));
}

TEST(Document, AnOlderVersionsFileIsRead) {
  Document document;
  document.records = {made_up_record("fp32", 150)};
  Json json = Json::parse(to_json(document).dump());
  for (const char* newer : {"phase", "command", "energy_conflict", "warm_up_ms"}) json["records"][0].erase(newer);
  json["records"][0]["of_another_version"] = 1;
  json.erase("findings");
  const Document read = document_from_json(json, "old.json");
  EXPECT_EQ(to_json(read.records.at(0)), to_json(document.records.at(0)));
  EXPECT_TRUE(read.findings.empty());
}

TEST(Document, ARefusalNamesTheFileAndWhatIsWrong) {
  const auto refusal = [](const char* text) {
    try {
      document_from_json(parse_json(text, "run.json"), "run.json");
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(refusal("[1]"), "run.json: no list of records: --json of a command that measures writes one");
  EXPECT_NE(refusal(R"({"records": [{}]})").find("run.json: a record's field"), std::string::npos);
  EXPECT_EQ(refusal(R"({"records": [], "findings": [{"rule": 1}]})"),
            "run.json: a finding lacks a field, or has one of another type");
}

}  // namespace
}  // namespace assay
