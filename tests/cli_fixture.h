#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "cli_model.h"
#include "cli_program.h"

namespace assay {

/// What bad input may cost.
inline constexpr double most_cpu_s = 10;
inline constexpr std::int64_t most_bytes = std::int64_t{1} << 30;

/// A JSON text that nests so deeply.
inline std::string nested(int depth) {
  return std::string(static_cast<std::size_t>(depth), '[');
}

/// A folder with a sound model `model` and sound tokens `tokens.json`, in which programs run.
class Cli : public testing::Test {
 protected:
  void SetUp() override {
    write_tiny_model(model_);
    write_text(folder_.path() / "tokens.json", R"({"input_ids": [[1, 2, 3, 4, 5, 6, 7, 8]]})");
  }

  Outcome run(const Arguments& arguments) const { return run_assay(folder_.path(), arguments); }
  Outcome dump(const Arguments& more) const {
    Arguments arguments = {"dump", "model", "--tokens", "tokens.json", "--out", "out.safetensors"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  }
  /// bench on the sound model, one round.
  Outcome bench(const Arguments& more) const {
    Arguments arguments = {"bench", "model", "--rounds", "1", "--seconds", "0.05", "--seq", "8", "--quality", "none"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  }

  /// Ends with `code`, one line on stderr with `part` in it, nothing on stdout, within the limits, and leaves nothing.
  void expect_failure(const Arguments& arguments, int code, const std::string& part) const {
    const std::vector<std::string> before = folder_.content();
    const Outcome outcome = run(arguments);
    const std::string what = fmt::format("assay {}\nstderr: {}", fmt::join(arguments, " "), outcome.err);
    EXPECT_EQ(outcome.signal, 0) << what;
    EXPECT_EQ(outcome.exit_code, code) << what;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << what;
    EXPECT_TRUE(outcome.err.starts_with("assay: ") && outcome.err.ends_with("\n")) << what;
    EXPECT_NE(outcome.err.find(part), std::string::npos) << what << "lacks: " << part;
    EXPECT_LT(outcome.err.size(), 2100U) << what;
    EXPECT_EQ(outcome.out, "") << what;
    EXPECT_LT(outcome.cpu_s, most_cpu_s) << what;
    EXPECT_LT(outcome.peak_bytes, most_bytes) << what;
    EXPECT_EQ(folder_.content(), before) << what;
  }

  /// Every command that opens a model says the same of a bad one.
  void expect_bad_model(const std::string& model, const std::string& part) const {
    expect_failure({"explain", model, "--seq", "8"}, 2, part);
    expect_failure({"dump", model, "--tokens", "tokens.json", "--out", "out.safetensors"}, 2, part);
    expect_failure({"bench", model, "--rounds", "1", "--seconds", "0.05", "--seq", "8", "--quality", "none"}, 2, part);
  }

  Json records_of(const std::string& file) const {
    const std::string text = read_file(folder_.path() / file);
    return parse_json(text, file).at("records");
  }

  WorkFolder folder_;
  fs::path model_ = folder_.path() / "model";
};

}  // namespace assay
