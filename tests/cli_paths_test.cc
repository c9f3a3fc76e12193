// What a path can lead to: nothing but a user error that names it.
#include <cstdlib>

#include "cli_fixture.h"

namespace assay {
namespace {

/// The environment without some variables, for the programs that a test starts.
class Without {
 public:
  explicit Without(std::vector<std::string> names) {
    for (std::string& name : names) {
      const char* value = std::getenv(name.c_str());
      if (value == nullptr) continue;
      before_.emplace_back(std::move(name), value);
      ::unsetenv(before_.back().first.c_str());
    }
  }
  Without(const Without&) = delete;
  Without& operator=(const Without&) = delete;
  ~Without() {
    for (const auto& [name, value] : before_) ::setenv(name.c_str(), value.c_str(), 1);
  }

 private:
  std::vector<std::pair<std::string, std::string>> before_;
};

class CliPaths : public Cli {
 protected:
  /// A link that leads to itself: it is there, and nobody can read it.
  void loop(const std::string& name) const {
    const fs::path path = folder_.path() / name;
    fs::create_directories(path.parent_path());
    fs::create_symlink(path.filename(), path);
  }
  Arguments bench_on(const std::string& data) const {
    return {"bench", "model", "--data", data, "--rounds", "1", "--seconds", "0.05", "--seq", "8"};
  }
};

TEST_F(CliPaths, FilesThatCannotBeReadAreNamed) {
  write_text(folder_.path() / "text.txt", "Some words.");
  loop("model/tokenizer.json");
  expect_failure(bench_on("text.txt"), 2, "model/tokenizer.json: Too many levels of symbolic links");
  fs::remove(model_ / "tokenizer.json");
  write_text(model_ / "vocab.json", "{}");
  loop("model/merges.txt");
  expect_failure(bench_on("text.txt"), 2, "merges.txt: Too many levels of symbolic links");
}

TEST_F(CliPaths, ArraysThatCannotBeReadAreNamed) {
  const auto ids = [](std::int64_t i) { return i % 61; };
  for (const char* array : {"attention_mask.npy", "labels.npy"}) {
    const std::string folder = std::string("with ") + array;
    fs::create_directories(folder_.path() / folder);
    write_text(folder_.path() / folder / "input_ids.npy", npy_text(2, 8, ids));
    loop(folder + "/" + array);
    expect_failure(bench_on(folder), 2, folder + "/" + array + ": Too many levels of symbolic links");
  }
}

TEST_F(CliPaths, ValuesOfArraysAreNamedByFileAndPlace) {
  fs::create_directories(folder_.path() / "arrays");
  write_text(folder_.path() / "arrays/input_ids.npy", npy_text(3, 8, [](std::int64_t i) { return i == 21 ? 64 : 1; }));
  expect_failure(bench_on("arrays"), 2, "arrays/input_ids.npy: id 64 at row 2, position 5");
  write_text(folder_.path() / "arrays/input_ids.npy", npy_text(1, 65, [](std::int64_t) { return 1; }));
  expect_failure(bench_on("arrays"), 2, "arrays/input_ids.npy: rows of 65 tokens are longer than the context of model");
}

TEST_F(CliPaths, APathThatIsTooLongIsAUserError) {
  expect_failure(bench_on(std::string(5000, 'n')), 2, "File name too long");
  expect_failure({"explain", std::string(5000, 'n')}, 2, "nnn");
}

TEST_F(CliPaths, WithoutAHomeOnlyWhatNeedsAFolderRefuses) {
  const Without nowhere({"HOME", "XDG_CACHE_HOME"});
  EXPECT_EQ(dump({}).exit_code, 0);
  EXPECT_EQ(run({"models"}).exit_code, 0);
  expect_failure({"pull", "minilm-l6"}, 2, "HOME: is not set, and neither is XDG_CACHE_HOME");
}

TEST_F(CliPaths, ATokenizerThatCannotBeCopiedEndsATrainingBeforeItsFirstStep) {
  loop("model/tokenizer.json");
  expect_failure({"train", "model", "--tokens", "tokens.json", "--steps", "3", "--out", "trained"}, 2,
                 "tokenizer.json: Too many levels of symbolic links");
}

/// Rows and positions count from 0, in ids and labels alike.
TEST_F(CliPaths, FaultyContentIsNamedByFileAndPlace) {
  const auto expect_place = [&](const std::string& tokens, const std::string& part) {
    write_text(folder_.path() / "bad.json", tokens);
    expect_failure({"dump", "model", "--tokens", "bad.json", "--what", "loss", "--out", "out.safetensors"}, 2, part);
    expect_failure({"train", "model", "--tokens", "bad.json", "--steps", "1"}, 2, part);
  };
  expect_place(R"({"input_ids": [[1, 2], [3, 4]], "labels": [[1, 2], [3, 64]]})",
               "bad.json: labels: label 64 at row 1, position 1 is not among the model's 64 classes 0 to 63");
  expect_place(R"({"input_ids": [[1, 2], [64, 4]]})", "bad.json: input_ids: id 64 at row 1, position 0");
  expect_place(R"({"input_ids": [[1, 2], [3, 4]], "labels": [[1, 2], [-7, 3]]})",
               "bad.json: labels: row 1, position 0 is -7");
  expect_place(R"({"input_ids": [[1, 2], [3, 4]], "attention_mask": [[1, 1], [1, 2]]})",
               "bad.json: attention_mask: row 1, position 1 is 2");
}

}  // namespace
}  // namespace assay
