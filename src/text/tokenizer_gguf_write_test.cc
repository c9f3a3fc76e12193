#include "text/tokenizer_gguf_write.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/json.h"
#include "base/testing.h"
#include "text/bundled.h"
#include "text/tokenizer.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

/// A model's folder with the tokenizer.json of a fixture.
struct FolderWithTokenizer {
  TemporaryFolder place;
  fs::path folder = place.path() / "model";

  explicit FolderWithTokenizer(const std::string& fixture) {
    const std::string path = ASSAY_SOURCE_DIR "/src/text/fixtures/" + fixture + ".json";
    fs::create_directory(folder);
    const Json json = parse_json(read_file(path), path);
    write_file_atomically(folder / "tokenizer.json", json.at("tokenizer").at("json").dump());
  }
};

const GgufEntry* find_entry(const GgufTokenizer& tokenizer, const std::string& key) {
  const auto found = std::ranges::find(tokenizer.entries, key, &GgufEntry::key);
  return found == tokenizer.entries.end() ? nullptr : &*found;
}

TEST(TokenizerGgufWrite, FindsTheNameOfTheWayToSplit) {
  for (const auto& [fixture, pre] : {std::pair("trained-tekken", "tekken"), std::pair("trained-gpt4o", "gpt-4o"),
                                     std::pair("trained-deepseek-v3", "deepseek-v3")}) {
    const FolderWithTokenizer from(fixture);
    const GgufTokenizer written = gguf_tokenizer(from.folder, 520);
    ASSERT_EQ(written.hindrance, "") << fixture;
    EXPECT_EQ(find_entry(written, "tokenizer.ggml.pre")->bytes, gguf_text("", pre).bytes) << fixture;
    const fs::path file = from.place.path() / "tokenizer.gguf";
    write_gguf(file, written.entries, {});
    const Tokenizer read = load_tokenizer(file);
    EXPECT_EQ(read.encode(bundled_text()), load_tokenizer(from.folder).encode(bundled_text())) << fixture;
    EXPECT_EQ(read.vocabulary_size(), 520) << "as many as the embedding has rows";
    EXPECT_EQ(gguf_bytes(gguf_tokenizer(file, 520).entries).size(), gguf_bytes(written.entries).size())
        << "of a file they are copied";
  }
}

TEST(TokenizerGgufWrite, SaysWhyThereIsNone) {
  const FolderWithTokenizer pieces("trained-llama2");
  EXPECT_EQ(gguf_tokenizer(pieces.folder, 500).hindrance, "its tokenizer is bpe, and byte-level BPE alone is written");
  const TemporaryFolder empty;
  EXPECT_EQ(gguf_tokenizer(empty.path(), 500).hindrance, "the model's folder has no tokenizer.json");
}

}  // namespace
}  // namespace assay
