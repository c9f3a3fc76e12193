#include "cli_fixture.h"
#include "formats/npy.h"

namespace assay {
namespace {

/// Searches for mixes, and calibrates, from the command line.
class CliTune : public Cli {
 protected:
  void SetUp() override {
    Cli::SetUp();
    constexpr std::int64_t rows = 16;
    constexpr std::int64_t seq = 8;
    std::vector<std::int32_t> ids;
    ids.reserve(rows * seq);
    for (std::int32_t i = 0; i < rows * seq; ++i) ids.push_back(i * 7 % 11 + 1);
    fs::create_directory(folder_.path() / "data");
    write_npy(folder_.path() / "data" / "input_ids.npy", NpyType::s32, {rows, seq}, std::as_bytes(std::span(ids)));
  }
};

TEST_F(CliTune, AsksForOneLimitThatIsANumber) {
  expect_failure({"tune", "model", "--max-kl", "0"}, 2, "--max-kl 0: has to be above 0");
  expect_failure({"tune", "model", "--max-drop", "much"}, 2, "--max-drop much: not a share such as 3% or 0.03");
  expect_failure({"tune", "model", "--max-kl", "0.1", "--max-perplexity", "1%"}, 2, "one limit at a time");
}

TEST_F(CliTune, SaysWhatCannotBeSearchedOn) {
  expect_failure({"tune", "model", "--data", "nowhere.txt"}, 2, "nowhere.txt: no such file");
  expect_failure({"tune", "model", "--data", "data", "--search-rows", "16"}, 2, "none is left to score");
  expect_failure({"tune", "model", "--precision", "int5"}, 2, "int5");
}

TEST_F(CliTune, WritesARecipeThatBenchTakes) {
  const Outcome outcome = run({"tune",       "model",           "--data",   "data",        "--search-rows",
                               "8",          "--gradient-rows", "4",        "--precision", "int8,int4-weights",
                               "--minimise", "bytes",           "--budget", "10s",         "--seconds",
                               "0.05",       "--seq",           "8",        "--max-kl",    "0.05",
                               "--out",      "mix.toml",        "--json",   "tune.json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("- Take "), std::string::npos) << outcome.out;
  const Outcome again = bench({"--precision", "fp32", "--recipe", "mix.toml", "--json", "bench.json"});
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(records_of("bench.json").size(), 2U);
}

TEST_F(CliTune, CalibrationSaysWhatItIsNotFor) {
  expect_failure({"bench", "model", "--precision", "bf16", "--seq", "8", "--quality", "none", "--calibrate", "data"}, 2,
                 "int8 and int8-static alone take it");
  expect_failure({"bench", "model", "--precision", "int8", "--seq", "8", "--data", "data", "--calibrate", "data"}, 2,
                 "is scored, too");
}

TEST_F(CliTune, RecordsOfCalibratedRowsSaySo) {
  const Outcome outcome =
      bench({"--precision", "int8,bf16", "--calibrate", "data", "--samples", "4", "--json", "out.json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const Json& record : records_of("out.json")) {
    const bool is_calibrated = !record.at("calibration").is_null();
    EXPECT_EQ(is_calibrated, record.at("precision") == "int8") << record.at("precision");
  }
}

}  // namespace
}  // namespace assay
