#include "results/fields.h"
#include "results/derive.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "results/document.h"
#include "results/identity.h"
#include "results/made_up_test.h"

namespace assay {
namespace {

Document made_up_document() {
  Document document;
  document.machine = {{"processor", "made up"}, {"cores", 2}};
  document.records = made_up_cell();
  document.records.push_back(made_up_left_out("fp16", Status::emulated, "no f16 matmul instruction"));
  document.records.push_back(made_up_decode("bf16", 4));
  document.findings = made_up_findings();
  return document;
}

TEST(Fields, HaveUniqueNamesAndMeanings) {
  std::set<std::string> names;
  for (const Field& field : record_fields()) {
    EXPECT_TRUE(names.insert(field.name).second) << field.name;
    EXPECT_FALSE(std::string(field.meaning).empty()) << field.name;
  }
}

TEST(Fields, IncludeWhatReadersRelyOn) {
  const OrderedJson json = to_json(Record{});
  for (const char* name :
       {"model",         "weights",      "parameters",    "precision",  "device",      "batch",       "seq",
        "status",        "reason",       "samples",       "raw_ms",     "speedup",     "speedup_low", "speedup_high",
        "median_ms",     "p10_ms",       "p90_ms",        "mean_ms",    "std_ms",      "ci_low_ms",   "ci_high_ms",
        "samples_per_s", "tokens_per_s", "gflops",        "peak_share", "model_bytes", "peak_bytes",  "energy_j",
        "energy_status", "trust",        "trust_reasons", "ledger",     "first_ms",    "kl_mean"}) {
    EXPECT_TRUE(json.contains(name)) << name;
  }
}

TEST(Fields, OfAnEmptyRecordAreNullAndNotZero) {
  const OrderedJson json = to_json(Record{});
  for (const char* name :
       {"median_ms", "energy_j", "perplexity", "resident_bytes", "trust", "foreign_load", "gflops"}) {
    EXPECT_TRUE(json[name].is_null()) << name;
  }
}

TEST(Fields, SurviveAJsonRoundTrip) {
  for (const Record& record : made_up_document().records) {
    const std::string text = to_json(record).dump();
    EXPECT_EQ(to_json(record_from_json(parse_json(text, "test"), "test")).dump(), text);
  }
}

TEST(Fields, OfGenerationComeBackWithWhatFollowsFromTheSamples) {
  const Record record = made_up_decode("bf16", 4);
  EXPECT_EQ(*record.decoded->equal_32, 0.75) << "three of four continuations share their first 32 tokens";
  EXPECT_EQ(*record.decoded->equal_128, 0.25);
  EXPECT_NEAR(*record.generation->token_ms, 4 * 1.055, 1e-9) << "the first four of eight stand apart";
  const double bytes = *record.evidence.weight_bytes_read + *record.generation->kv_bytes_read;
  EXPECT_NEAR(*record.rates.bandwidth_share, bytes / 4e-3 / *record.evidence.bandwidth_bytes_per_s, 1e-9)
      << "a token reads keys and values too";
  const Record back = record_from_json(parse_json(to_json(record).dump(), "test"), "test");
  EXPECT_EQ(back.decoded->equal_tokens, record.decoded->equal_tokens);
  EXPECT_EQ(back.decoded->kl_by_position, record.decoded->kl_by_position);
  EXPECT_EQ(back.generation->raw_token_ms, record.generation->raw_token_ms);
  EXPECT_TRUE(derived_again({back}).front().seal.changed.empty());
}

TEST(Fields, OfRanksFollowFromTheSamplesOfTheSameRounds) {
  Record record = made_up_record("fp32", 100);
  record.setting.ranks = 2;
  RankedStep& ranked = record.ranked.made();
  for (const double ms : record.latency->raw_ms) {
    ranked.raw_exposed_ms.push_back(0.03 * ms);
    ranked.raw_alone_part_ms.push_back(0.9 * ms);
    ranked.raw_alone_ms.push_back(1.8 * ms);
    ranked.raw_one_process_ms.push_back(0.97 * ms);
  }
  record = with_derived({record}).front();
  EXPECT_NEAR(*record.ranked->exposed_ms, 3, 0.01);
  EXPECT_NEAR(*record.ranked->exposed_of_step, 0.03, 1e-9);
  EXPECT_NEAR(*record.ranked->weak_efficiency_low, 0.9, 1e-9) << "pairs do not differ: no width";
  EXPECT_NEAR(*record.ranked->rank_speedup, 1.8, 1e-9);
  EXPECT_NEAR(*record.ranked->one_process_ratio_high, 0.97, 1e-9);
  Record back = record_from_json(parse_json(to_json(record).dump(), "test"), "test");
  const std::vector<std::string> changed = derived_again({back}).front().seal.changed;
  EXPECT_TRUE(changed.empty()) << fmt::format("{}", fmt::join(changed, "; "));
  back.ranked.made().rank_speedup = 2;
  const Record again = derived_again({back}).front();
  EXPECT_NEAR(*again.ranked->rank_speedup, 1.8, 1e-9) << "what is written is not believed";
  EXPECT_EQ(again.seal.changed.size(), 1U);
  Record other = record;
  other.setting.ranks = 4;
  EXPECT_NE(subject_key(other), subject_key(record));
}

TEST(Fields, KeepInfinityOutOfJson) {
  Record record = made_up_record("fp32", 10);
  record.quality.made().perplexity = INFINITY;
  EXPECT_TRUE(to_json(record)["perplexity"].is_null());
}

TEST(Fields, ABrokenRecordNamesFileAndField) {
  Json json = Json::parse(to_json(made_up_record("fp32", 10)).dump());
  const auto message_of = [&]() -> std::string {
    try {
      record_from_json(json, "old.json");
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::user);
      return error.what();
    }
    return "accepted";
  };
  json["batch"] = "eight";
  EXPECT_EQ(message_of(), "old.json: a record's field 'batch' is missing or of another type");
  for (const char* field : {"batch", "seq"}) {
    for (const Json& value : {Json(0), Json(-3), Json(std::uint64_t{1} << 63), Json(UINT64_MAX)}) {
      json["batch"] = json["seq"] = 8;
      json[field] = value;
      EXPECT_EQ(message_of(), fmt::format("old.json: a record's field '{}' is out of range", field)) << value;
    }
  }
  json["batch"] = json["seq"] = 8;
  json["ledger"][0]["verdict"] = "splendid";
  EXPECT_EQ(message_of(), "old.json: a record's field 'ledger' is missing or of another type");
  json.erase("status");
  EXPECT_EQ(message_of(), "old.json: a record's field 'status' is missing or of another type");
}

TEST(Fields, DeriveRatesFromTheMedian) {
  Record record = made_up_record("fp32", 200);
  record.setting.batch = 8;
  record.energy.made().energy_j = 2;
  record.latency.made().timed_runs = 50;
  record.latency.made().timed_s = 10;
  record.rates = rates_of(record);
  EXPECT_DOUBLE_EQ(*record.rates.samples_per_s, 40);
  EXPECT_DOUBLE_EQ(*record.rates.tokens_per_s, 40 * 128);
  EXPECT_DOUBLE_EQ(*record.rates.gflops, 170);
  EXPECT_DOUBLE_EQ(*record.rates.peak_share, 170.0 / 377);
  Record empty;
  empty.rates = rates_of(empty);
  EXPECT_FALSE(empty.rates.samples_per_s.has_value());
}

TEST(Fields, ACostGoesWithItsPrice) {
  Record record = made_up_record("fp32", 200);
  record.energy.made().energy_j = 2;
  record.energy.made().price_per_kwh = 0.3;
  record.energy.made().carbon_g_per_kwh = 400;
  record.rates = rates_of(record);
  EXPECT_TRUE(record.rates.cost_per_million_tokens && record.rates.carbon_g_per_million_tokens);
  record.energy.made().price_per_kwh.reset();
  record.energy.made().carbon_g_per_kwh.reset();
  record.rates = rates_of(record);
  EXPECT_FALSE(record.rates.cost_per_million_tokens || record.rates.carbon_g_per_million_tokens);
}

TEST(Fields, TheDominantRowDoesMostOfTheWork) {
  Record record = made_up_record("bf16", 10, DType::bf16);
  record.evidence.ledger.push_back(made_up_row("bf16", DType::f32, Verdict::widened, 9));
  for (int i = 0; i < 9; ++i) {
    record.evidence.ledger.push_back(made_up_row("bf16", DType::f32, Verdict::native, i));
    record.evidence.ledger.back().operation = "rms_norm";
  }
  EXPECT_EQ(what_ran(record), "bf16/f32 native");
  record.evidence.ledger[3].flops = 1e12;  // One head outweighs all layers.
  EXPECT_EQ(what_ran(record), "f32/f32 widened");
  EXPECT_EQ(what_ran(Record{}), "");
}

TEST(Schema, TheDocumentOfARunFollowsIt) {
  const Json schema = Json::parse(document_schema().dump());
  const Json document = Json::parse(to_json(made_up_document()).dump());
  const auto violations = schema_violations(schema, document);
  EXPECT_TRUE(violations.empty()) << violations.front();
  EXPECT_EQ(document["findings"].size(), 2u);
}

TEST(Schema, SeesWhatBreaksIt) {
  const Json schema = Json::parse(document_schema().dump());
  const Json good = Json::parse(to_json(made_up_document()).dump());
  const auto first_violation = [&](auto&& change) {
    Json document = good;
    change(document);
    const auto violations = schema_violations(schema, document);
    return violations.empty() ? "none" : violations.front();
  };
  EXPECT_EQ(
      first_violation([](Json& d) { d["records"][0]["status"] = "fine"; }).find("$.records[0].status: \"fine\" is not"),
      0u);
  EXPECT_EQ(first_violation([](Json& d) { d["records"][1].erase("median_ms"); }), "$.records[1]: lacks \"median_ms\"");
  EXPECT_EQ(first_violation([](Json& d) { d["records"][0]["extra"] = 1; }), "$.records[0]: 'extra' is unknown");
  EXPECT_EQ(first_violation([](Json& d) { d["records"][0]["batch"] = 1.5; }),
            "$.records[0].batch: number is not of type \"integer\"");
  EXPECT_EQ(first_violation([](Json& d) { d["schema"] = "other"; }), "$.schema: not the constant");
}

/// With what is made of it.
void write_schema(const std::string& path, const std::string& schema) {
  write_file_atomically(path, schema);
  const std::string root = ASSAY_SOURCE_DIR;
  const std::string command =
      "'" + root + "/tools/generate_python_records.py' '" + path + "' >'" + root + "/python/assay/records.py'";
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
}

// To write it anew after a change of the field list: ASSAY_WRITE_DOCS=1 test_results
TEST(Schema, ThePublishedOneIsThatOfTheFieldList) {
  const std::string path = ASSAY_SOURCE_DIR "/docs/record.schema.json";
  const std::string expected = document_schema().dump(2) + "\n";
  if (std::getenv("ASSAY_WRITE_DOCS") != nullptr) write_schema(path, expected);
  EXPECT_EQ(read_file(path), expected);
}

}  // namespace
}  // namespace assay
