#include <map>

#include "cli_fixture.h"

namespace assay {
namespace {

using CliInput = Cli;

TEST_F(CliInput, TokensAreChecked) {
  std::string long_row = "0";
  for (int i = 0; i < 64; ++i) long_row += ", 1";
  const std::map<std::string, std::string> files = {
      {"empty", ""},
      {"no JSON", "ids"},
      {"no ids", "{}"},
      {"no rows", R"({"input_ids": []})"},
      {"an empty row", R"({"input_ids": [[]]})"},
      {"ragged rows", R"({"input_ids": [[1, 2], [3]]})"},
      {"rows of rows", R"({"input_ids": [[[1]]]})"},
      {"an id outside the vocabulary", R"({"input_ids": [[1, 64]]})"},
      {"a negative id", R"({"input_ids": [[1, -1]]})"},
      {"an id past 2^64", R"({"input_ids": [[1, 99999999999999999999]]})"},
      {"half an id", R"({"input_ids": [[1, 1.5]]})"},
      {"a longer sequence than the context", fmt::format(R"({{"input_ids": [[{}]]}})", long_row)},
      {"a mask of another shape", R"({"input_ids": [[1, 2]], "attention_mask": [[1]]})"},
      {"a mask of twos", R"({"input_ids": [[1, 2]], "attention_mask": [[1, 2]]})"},
      {"trailing data", R"({"input_ids": [[1, 2]]} 7)"},
      {"an unknown member", R"({"input_ids": [[1, 2]], "ids": [[1]]})"},
      {"100,000 brackets", R"({"input_ids": )" + nested(100'000)},
  };
  for (const auto& [what, content] : files) {
    SCOPED_TRACE(what);
    write_text(folder_.path() / "bad.json", content);
    expect_failure({"dump", "model", "--tokens", "bad.json", "--out", "out.safetensors"}, 2, "bad.json");
  }
  write_text(folder_.path() / "bad.json", R"({"input_ids": [[1, 2]], "labels": [[1, 64]]})");
  expect_failure({"dump", "model", "--tokens", "bad.json", "--what", "loss", "--out", "out.safetensors"}, 2, "64");
  expect_failure({"dump", "model", "--tokens", "model", "--out", "out.safetensors"}, 2, "model: is a folder");
  expect_failure({"dump", "model", "--tokens", "absent", "--out", "out.safetensors"}, 2, "absent");
}

TEST_F(CliInput, OptionsAreChecked) {
  const std::vector<std::pair<Arguments, std::string>> wrong = {
      {{"--precision", "fp31"}, "fp31"},
      {{"--precision", ""}, "precision"},
      {{"--device", "tpu"}, "tpu"},
      {{"--with", "nosuch=f16"}, "nosuch"},
      {{"--with", "loss=f16"}, "the roles that can have a dtype are embedding, attention, mlp, norm, softmax, head"},
      {{"--with", "norm=f17"}, "f17"},
      {{"--with", "norm"}, "norm"},
      {{"--nosuch"}, "--nosuch"},
      {{"--threads", "0"}, "--threads"},
      {{"--threads", "99999999999"}, "threads"},
      {{"--threads", "4096"}, "threads"},
      {{"--max-isa", "mmx"}, "mmx"},
      {{"--fusion", "maybe"}, "--fusion"},
      {{"--seed", "x"}, "--seed"},
  };
  for (const auto& [option, part] : wrong) {
    for (Arguments command : std::vector<Arguments>{
             {"explain", "model", "--seq", "8"},
             {"dump", "model", "--tokens", "tokens.json", "--out", "out.safetensors"},
             {"bench", "model", "--rounds", "1", "--seconds", "0.05", "--seq", "8", "--quality", "none"}}) {
      command.insert(command.end(), option.begin(), option.end());
      expect_failure(command, 2, part);
    }
  }
  expect_failure({"bench", "model", "--graphs", "maybe"}, 2, "--graphs");
  expect_failure({"bench", "model", "--caches", "lukewarm"}, 2, "--caches");
  expect_failure({"bench", "model", "--seq", "8", "--caches", "cold", "--meter", "RAPL"}, 2, "--caches cold");
  expect_failure({"explain", "model", "--seq", "0"}, 2, "--seq");
  expect_failure({"explain", "model", "--seq", "65"}, 2, "context of 64");
  expect_failure({"explain", "model", "--batch", "-1"}, 2, "--batch");
  expect_failure({"memory", "model", "--seq", "8,65"}, 2, "context of 64");
  expect_failure({"memory", "model", "--mode", "walk"}, 2, "--mode");
  expect_failure({"memory", "model", "--mode", "train", "--recompute", "half"}, 2, "half");
  expect_failure({"memory", "model", "--mode", "train", "--precision", "int8", "--seq", "8"}, 2, "int8");
  expect_failure({"profile", "model", "--precision", "fp33", "--seq", "8"}, 2, "fp33");
  expect_failure({"profile", "model", "--seq", "65"}, 2, "context of 64");
  expect_failure({"profile", "model", "--seq", "8", "--trace", "no/such/folder/t.json"}, 2, "no/such/folder");
  expect_failure({"bench", "model", "--seq", "8,65"}, 2, "context of 64");
  expect_failure({"bench", "model", "--seq", "8,x"}, 2, "--seq");
  expect_failure({"bench", "model", "--tokens=-5"}, 2, "--tokens");
  expect_failure({"bench", "model", "--width", "nan"}, 2, "--width: nan: must be between");
  expect_failure({"bench", "model", "--seconds", "nan"}, 2, "--seconds: nan: must be between");
  expect_failure({"dump", "model", "--tokens", "tokens.json", "--out", "o", "--what", "nosuch"}, 2, "nosuch");
  expect_failure({"dump", "model"}, 2, "--");
  expect_failure({}, 2, "subcommand");
  expect_failure({"nosuch"}, 2, "nosuch: is no command");
  expect_failure({"--nosuch"}, 2, "--nosuch: is no option");
  // What the parser would take for a value is another word.
  expect_failure({"bench", "--store=", "model"}, 2, "--store: its value is empty");
  expect_failure({"bench", "model", "--json=", "--seq", "8"}, 2, "--json: its value is empty");
  expect_failure({"bench", "model", "--store", "--seq=8"}, 2, "--store: has no value; --seq, which follows it");
  expect_failure({"measure", "--store", "--", "true"}, 2, "--store: has no value before the --");
  expect_failure({"measure", "--runs", "--", "true"}, 2, "--runs: has no value before the --");
  expect_failure({"train", "model", "--data", "--steps", "3"}, 2, "--data: has no value; --steps, which follows it");
  expect_failure({"memory", "model", "--csv", "-h"}, 2, "--csv: has no value; -h, which follows it");
  expect_failure({"memory", ""}, 2, "model: its value is empty");
  expect_failure({"nosuch", "--help"}, 2, "nosuch: is no command");
  expect_failure({"measure", "--runs", "1", "true", "--foo"}, 2, "not expected: --foo (");
  for (const char* list : {"8,", ",8", "8,,9", ","}) {
    expect_failure({"bench", "model", "--batch", list}, 2, "--batch: has an empty element");
    expect_failure({"bench", "model", fmt::format("--bs={}", list)}, 2, "has an empty element");
    expect_failure({"memory", "--emulated", list}, 2, "model: has an empty element");
    expect_failure({"dump", list, "--tokens", "tokens.json", "--out", "o"}, 2, fmt::format("{}: is no path", list));
  }
}

TEST_F(CliInput, WordsInBracketsAreWordsLikeOthers) {
  const std::vector<std::string> odd = {"[a,b]", "--x=[a,,b]", "--runs=[1]", "[]", ",", "a,,b,", "\x02", "\x02\x02[a]"};
  std::vector<std::string> words = {"measure", "--runs", "1", "--", "printf", "<%s>\n"};
  words.insert(words.end(), odd.begin(), odd.end());
  const Outcome measured = run(words);
  EXPECT_EQ(measured.exit_code, 0) << measured.err;
  for (const std::string& word : odd)
    EXPECT_NE(measured.err.find("<" + word + ">\n"), std::string::npos) << word << measured.err;
  EXPECT_EQ(run({"compare", "--interleave", "[ 1 = 1 ]", "[ 2 = 2 ]", "--rounds", "1"}).exit_code, 0);
  fs::create_directory(folder_.path() / "[a,b]");
  fs::copy(model_, folder_.path() / "[a,b]" / "[c]", fs::copy_options::recursive);
  EXPECT_EQ(run({"memory", "[a,b]/[c]", "--seq", "8"}).exit_code, 2) << "a comma parts models";
  fs::rename(folder_.path() / "[a,b]" / "[c]", folder_.path() / "[c]");
  const Outcome planned = run({"memory", "[c]", "--seq", "8", "--json=[d]"});
  EXPECT_EQ(planned.exit_code, 0) << planned.err;
  EXPECT_TRUE(fs::exists(folder_.path() / "[d]"));
  expect_failure({"memory", "[c]", "--json=[d]", "--csv=[d]", "--seq", "8"}, 2,
                 "--csv [d]: is also what --json writes");
  expect_failure({"memory", "[nosuch]"}, 2, "[nosuch]: is no path");
  expect_failure({"memory", "[c]", "--seq", "[8,9]"}, 2, "[8");
}

TEST_F(CliInput, FilesThatCannotBeWrittenAreRefusedBeforeAnythingRuns) {
  for (const char* option : {"--json", "--csv", "--markdown"}) {
    for (const char* file : {"model", "absent/file", "/proc/file"}) {
      expect_failure({"bench", "model", "--seq", "8", "--quality", "none", option, file}, 2, file);
    }
  }
  for (const char* file : {"model", "absent/file", "/proc/file"}) {
    expect_failure({"dump", "model", "--tokens", "tokens.json", "--out", file}, 2, file);
  }
}

TEST_F(CliInput, ALineFeedInANameStaysInOneLine) {
  expect_failure({"explain", "two\nlines"}, 2, "two\\x0alines");
  expect_failure({"explain", "./two\nlines\x1b[2J"}, 2, "two\\x0alines\\x1b");
  expect_failure({"dump", "model", "--tokens", "two\nlines", "--out", "o"}, 2, "two\\x0alines");
  expect_failure({"tokenize", "model", "--text-file", "two\r\nlines"}, 2, "assay: ");
  write_tiny_model(folder_.path() / "two\nlines");
  EXPECT_EQ(run({"explain", "two\nlines", "--seq", "8"}).exit_code, 0);
}

TEST_F(CliInput, HostileTokenizersAreRefused) {
  write_text(folder_.path() / "text.txt", "some words");
  const std::map<std::string, std::string> files = {
      {"empty", ""}, {"no JSON", "{"}, {"100,000 brackets", nested(100'000)}, {"no model", "{}"}};
  for (const auto& [what, content] : files) {
    SCOPED_TRACE(what);
    write_text(model_ / "tokenizer.json", content);
    expect_failure({"tokenize", "model", "--text-file", "text.txt"}, 2, "tokenizer.json");
  }
  fs::remove(model_ / "tokenizer.json");
  expect_failure({"tokenize", "model", "--text-file", "text.txt"}, 2, "model");
  write_text(folder_.path() / "ids.json", "[1, -1]");
  expect_failure({"tokenize", "model", "--decode=ids.json"}, 2, "ids.json: id 1 is -1");
  expect_failure({"tokenize", "model", "--decode", "--text-file", "text.txt"}, 2, "--decode");
  expect_failure({"tokenize", "model"}, 2, "--text-file or --decode");
  expect_failure({"tokenize", "gpt2", "--text-file", "text.txt"}, 2, "gpt2");
}

TEST_F(CliInput, MemoryThatWouldNotSufficeIsRefusedWithTwoFigures) {
  const Outcome bench = run({"bench", "cs336-10b", "--batch", "1048576", "--seq", "1024", "--quality", "none"});
  EXPECT_EQ(bench.exit_code, 0) << bench.err;
  EXPECT_NE(bench.out.find("oom: memory: "), std::string::npos) << bench.out;
  EXPECT_NE(bench.out.find("are available"), std::string::npos) << bench.out;
  const Outcome train = run({"train", "cs336-10b", "--tokens", "tokens.json", "--steps", "1"});
  EXPECT_EQ(train.exit_code, 3) << train.out;
  EXPECT_NE(train.err.find("are available"), std::string::npos) << train.err;
}

TEST_F(CliInput, ExplainTellsOfAModelThatDoesNotFit) {
  const Outcome outcome = run({"explain", "cs336-10b", "--batch", "64", "--seq", "1024"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("does not fit: the peak is "), std::string::npos);
  EXPECT_LT(outcome.peak_bytes, most_bytes);
}

}  // namespace
}  // namespace assay
