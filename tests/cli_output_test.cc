#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "cli_fixture.h"

namespace assay {
namespace {

/// The program as a shell starts it: `$ASSAY` is it.
int run_in_shell(const fs::path& folder, const std::string& line) {
  ::setenv("ASSAY", ASSAY_PROGRAM, 1);
  ::setenv("FOLDER", folder.c_str(), 1);
  const int status =
      std::system(("cd \"$FOLDER\" && XDG_DATA_HOME=\"$FOLDER/data\" && export XDG_DATA_HOME && " + line).c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

class CliOutput : public Cli {
 protected:
  int shell(const std::string& line) const { return run_in_shell(folder_.path(), line); }
  std::string content(const std::string& name) const { return read_file(folder_.path() / name); }
  static constexpr const char* bench_line =
      "\"$ASSAY\" bench model --precision fp32 --rounds 1 --seq 8 --quality none --store none ";
};

TEST_F(CliOutput, AFullStandardOutputIsOneErrorWhateverTheCommand) {
  write_text(folder_.path() / "table.md", "| precision | latency (ms) |\n|---|---|\n| fp32 | 10 |\n| fp16 | 5 |\n");
  for (const char* command :
       {"models", "findings", "findings --json", "accumulate", "accumulate --json", "explain model --seq 8", "probe",
        "memory model --precision fp32 --seq 8", "--help", "--version", "bench --help", "check table.md",
        "check table.md --json", "autocast --seconds 0.01", "train model --tokens tokens.json --steps 1",
        "train model --tokens tokens.json --steps 1 --json", "profile model --seq 8 --rounds 1"}) {
    const int code = shell(std::string("\"$ASSAY\" ") + command + " >/dev/full 2>err");
    const std::string err = content("err");
    EXPECT_EQ(code, 3) << command << ": " << err;
    EXPECT_EQ(err, "assay: standard output: No space left on device\n") << command;
  }
}

TEST_F(CliOutput, ResultsAreOnStandardOutputBeforeAFileFailsAndTheOtherFilesAreWritten) {
  EXPECT_EQ(shell(std::string(bench_line) + "--json /dev/full --csv out.csv >out 2>err"), 3);
  EXPECT_NE(content("out").find("fp32"), std::string::npos);
  EXPECT_EQ(content("err"), "assay: /dev/full: No space left on device\n");
  EXPECT_NE(content("out.csv").find("fp32"), std::string::npos);
  EXPECT_EQ(shell(std::string(bench_line) + "--json out.json >/dev/full 2>err"), 3);
  EXPECT_EQ(parse_json(content("out.json"), "out.json").at("records").size(), 1U) << "a reader of stdout may be gone";
}

TEST_F(CliOutput, WhatIsNoRegularFileIsWrittenToAsItIs) {
  EXPECT_EQ(shell(std::string(bench_line) + "--json /dev/null >out"), 0);
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  EXPECT_EQ(shell(std::string(bench_line) + "--json /dev/stdout >out"), 0);
  EXPECT_NE(content("out").find("\"records\""), std::string::npos);
  EXPECT_EQ(shell("mkfifo pipe && cat pipe >got & " + std::string("cd \"$FOLDER\"; while ! [ -p pipe ]; do :; done; ") +
                  bench_line + "--json pipe >out; wait"),
            0);
  EXPECT_NE(content("got").find("\"records\""), std::string::npos);
  write_text(folder_.path() / "target", "old");
  fs::create_symlink("target", folder_.path() / "link");
  fs::permissions(folder_.path() / "target", fs::perms{0600});
  EXPECT_EQ(shell(std::string(bench_line) + "--json link >out"), 0);
  EXPECT_TRUE(fs::is_symlink(folder_.path() / "link"));
  EXPECT_NE(content("target").find("\"records\""), std::string::npos);
  EXPECT_EQ(fs::status(folder_.path() / "target").permissions(), fs::perms{0600});
}

TEST_F(CliOutput, WhatIsReadIsNeverReplaced) {
  const std::string weights = content("model/model.safetensors");
  const std::string would_replace = "would replace what";
  expect_failure({"dump", "model", "--tokens", "tokens.json", "--out", "model/model.safetensors"}, 2, would_replace);
  expect_failure({"dump", "model", "--tokens", "tokens.json", "--out", "./tokens.json"}, 2, would_replace);
  expect_failure({"bench", "model", "--data", "tokens.json", "--json", "tokens.json"}, 2, would_replace);
  expect_failure({"bench", "model", "--store", "new.db", "--json", "new.db"}, 2, would_replace);
  expect_failure({"train", "model", "--tokens", "tokens.json", "--out", "run", "--json", "run/training.json"}, 2,
                 "lies in the folder that --out writes");
  ASSERT_EQ(run({"train", "model", "--tokens", "tokens.json", "--steps", "1", "--out", "run"}).exit_code, 0);
  fs::copy_file(folder_.path() / "tokens.json", folder_.path() / "run" / "vocab.txt");
  expect_failure({"train", "model", "--tokens", "run/vocab.txt", "--out", "run"}, 2, "lies in the folder");
  expect_failure({"train", "run", "--tokens", "tokens.json", "--out", "run"}, 2, "lies in the folder");
  EXPECT_EQ(shell(std::string(bench_line) + "--json both >>both 2>err"), 2) << "standard output is that file";
  expect_failure({"bench", "model", "--json", "a", "--csv", "a"}, 2, "is also what --json writes");
  ASSERT_EQ(shell("\"$ASSAY\" bench model --precision fp32 --rounds 1 --seq 8 --quality none >out"), 0);
  expect_failure({"export", "--json", "data/assay/results.db"}, 2, would_replace);
  expect_failure({"export", "--csv", "data/assay/results.db-wal"}, 2, would_replace);
  EXPECT_EQ(content("model/model.safetensors"), weights);
}

TEST_F(CliOutput, AnEmptyValueIsNoDefault) {
  expect_failure({"bench", "model", "--json", ""}, 2, "--json: its value is empty");
  expect_failure({"train", "model", "--tokens", "tokens.json", "--steps", "1", "--out", ""}, 2,
                 "--out: its value is empty");
  EXPECT_EQ(run({"train", "model", "--tokens", "tokens.json", "--steps", "1", "--json"}).exit_code, 0) << "it has none";
}

TEST_F(CliOutput, ClosedStreamsTakeNoFilesNumber) {
  EXPECT_EQ(shell(std::string(bench_line) + "--json out.json >&- 2>&- <&-"), 0);
  EXPECT_EQ(parse_json(content("out.json"), "out.json").at("records").size(), 1U);
}

TEST_F(CliOutput, AHangUpIsAnInterrupt) {
  const Outcome outcome = interrupt_assay(folder_.path(),
                                          {"bench", "model", "--precision", "fp32", "--seq", "8", "--seconds", "60",
                                           "--width", "0.0001", "--quality", "none", "--json", "out.json"},
                                          "sampling", SIGHUP);
  EXPECT_EQ(outcome.exit_code, 130) << outcome.err;
  EXPECT_EQ(records_of("out.json").size(), 1U);
}

TEST_F(CliOutput, AnIgnoredHangUpStaysIgnored) {
  const auto before = std::signal(SIGHUP, SIG_IGN);  // Inherited by what is started.
  const Outcome outcome = interrupt_assay(folder_.path(),
                                          {"bench", "model", "--precision", "fp32", "--seq", "8", "--seconds", "0.5",
                                           "--width", "0.0001", "--quality", "none", "--json", "out.json"},
                                          "sampling", SIGHUP);
  std::signal(SIGHUP, before);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(records_of("out.json").at(0).at("status"), "ok");
}

TEST_F(CliOutput, AReaderThatGoesAwayEndsNoTrainingAndCostsNoFile) {
  EXPECT_EQ(
      shell("mkfifo gone && { : <gone & } && \"$ASSAY\" train model --tokens tokens.json --steps 300 --out trained "
            ">gone 2>err"),
      3);
  EXPECT_EQ(content("err"), "assay: standard output: Broken pipe\n");
  EXPECT_EQ(parse_json(content("trained/training.json"), "training.json").at("steps"), 300);
  EXPECT_EQ(shell("{ : <gone & } && \"$ASSAY\" memory model --precision fp32 --seq 8 --json out.json >gone 2>err; "
                  "test -s out.json"),
            0);
}

TEST_F(CliOutput, WhatATerminalObeysReachesNoOutput) {
  write_text(folder_.path() / "table.md",
             "| precision | latency (ms) | \u202Emore |\n|---|---|---|\n| fp32\x1b[31m | -10 | 1 |\n");
  for (const Arguments& arguments : {Arguments{"check", "table.md"}, Arguments{"check", "table.md", "--json"}}) {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.exit_code, 10);
    EXPECT_EQ(outcome.out.find('\x1b'), std::string::npos);
    EXPECT_EQ(outcome.out.find("\u202E"), std::string::npos);
  }
  EXPECT_EQ(parse_json(run({"check", "table.md", "--json"}).out, "stdout").at("tables")[0].at("unrecognised")[0],
            "\u202Emore")
      << "JSON's own escape keeps what was meant";
}

TEST_F(CliOutput, APasswordOfAnAddressIsNotTold) {
  EXPECT_NE(shell(std::string(bench_line) + "--meter-url http://user:s3cret@127.0.0.1:9/ >out 2>err"), 0);
  EXPECT_NE(content("err").find("http://***@127.0.0.1:9/"), std::string::npos) << content("err");
  EXPECT_EQ(content("err").find("s3cret"), std::string::npos);
  EXPECT_EQ(shell(std::string(bench_line) + "--meter-url user:s3cret@127.0.0.1:9/ >out 2>err"), 2) << "no scheme";
  EXPECT_EQ(content("err").find("s3cret"), std::string::npos);
}

}  // namespace
}  // namespace assay
