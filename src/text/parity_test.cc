// Ids against those of the `tokenizers` library, from fixtures that tools/tokenizer_parity.py wrote.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "base/json.h"
#include "base/testing.h"
#include "text/tokenizer.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

/// The GGUF that ASSAY_SMOLLM2 names, or the cache holds; empty where there is none.
fs::path smollm2() {
  if (const char* named = std::getenv("ASSAY_SMOLLM2")) return named;
  if (!fs::is_directory(cache_folder())) return {};
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(cache_folder())) {
    if (entry.path().filename() == "SmolLM2-135M-Instruct.Q4_1.gguf") return entry.path();
  }
  return {};
}

/// "@a/b" stands for the content of the file a/b of the shared folder.
Json resolve(const Json& value) {
  if (!value.is_string()) return value;
  const fs::path path = shared_folder / value.get<std::string>().substr(1);
  if (path.extension() == ".json") return parse_json(read_file(path), path.string());
  Json lines = Json::array();
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("#version")) lines.push_back(line);
  }
  return lines;
}

Tokenizer from_definition(Json definition) {
  Json& model = definition["model"];
  for (const char* key : {"vocab", "merges"}) {
    if (model.contains(key)) model[key] = resolve(model[key]);
  }
  return parse_tokenizer_json(definition.dump(), "fixture");
}

/// A folder with vocab.txt and tokenizer_config.json, gone with the object.
struct VocabularyFolder {
  fs::path path;
  VocabularyFolder(const fs::path& vocabulary, const Json& config) {
    std::string name = (fs::temp_directory_path() / "assay-vocabulary-XXXXXX").string();
    path = mkdtemp(name.data());
    fs::copy_file(vocabulary, path / "vocab.txt");
    std::ofstream(path / "tokenizer_config.json") << config;
  }
  ~VocabularyFolder() { fs::remove_all(path); }
};

Tokenizer load(const Json& source) {
  if (source.contains("json")) return from_definition(source["json"]);
  if (source.contains("gguf")) return load_tokenizer(smollm2());
  if (source.contains("path")) return load_tokenizer(shared_folder / source["path"].get<std::string>());
  const VocabularyFolder folder(shared_folder / source["vocabulary_text"].get<std::string>(), source["config"]);
  return load_tokenizer(folder.path);
}

/// Why the tokenizer of a fixture cannot be had here; empty where it can.
std::string missing(const Json& source) {
  if (source.contains("gguf")) return smollm2().empty() ? "no SmolLM2 GGUF in the cache or in ASSAY_SMOLLM2" : "";
  const bool self_contained = source.contains("json") && !source["json"]["model"]["vocab"].is_string();
  return self_contained || fs::exists(shared_folder / "models") ? "" : "no folder shared/models";
}

std::vector<fs::path> fixtures() {
  const char* named = std::getenv("ASSAY_PARITY_FIXTURES");
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(named ? named : ASSAY_SOURCE_DIR "/src/text/fixtures")) {
    if (entry.path().extension() == ".json") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

class Parity : public testing::TestWithParam<fs::path> {};

TEST_P(Parity, IdsEqualTheLibrarys) {
  const Json fixture = Json::parse(read_file(GetParam()));
  if (const std::string why = missing(fixture["tokenizer"]); !why.empty()) GTEST_SKIP() << why;
  const Tokenizer tokenizer = load(fixture["tokenizer"]);
  ASSERT_FALSE(fixture["cases"].empty());
  int different = 0;
  for (const Json& known : fixture["cases"]) {
    const auto ids = tokenizer.encode(known[0].get<std::string>());
    if (ids == known[1].get<std::vector<std::int32_t>>()) continue;
    if (++different <= 10) {
      ADD_FAILURE() << known[0].dump(-1, ' ', true) << "\n ours   " << Json(ids) << "\n theirs " << known[1];
    }
  }
  EXPECT_EQ(different, 0) << "of " << fixture["cases"].size();
}

TEST_P(Parity, TextsOfIdsEqualTheLibrarys) {
  const Json fixture = Json::parse(read_file(GetParam()));
  if (fixture["cases"].empty() || fixture["cases"][0].size() < 3) GTEST_SKIP() << "a fixture without texts of ids";
  const Tokenizer tokenizer = load(fixture["tokenizer"]);
  for (const Json& known : fixture["cases"]) {
    const auto ids = known[1].get<std::vector<std::int32_t>>();
    EXPECT_EQ(tokenizer.decode(ids), known[2].get<std::string>()) << known[1];
  }
  const Json& pair = fixture["tokenizer"]["pair"];
  const PairIds row = tokenizer.encode_pair(pair[0].get<std::string>(), pair[1].get<std::string>());
  EXPECT_EQ(Json(row.ids), pair[2]);
  EXPECT_EQ(Json(row.type_ids), pair[3]);
}

std::string name_of_fixture(const testing::TestParamInfo<fs::path>& info) {
  std::string name = info.param.stem().string();
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Fixtures, Parity, testing::ValuesIn(fixtures()), name_of_fixture);

TEST(Tokenizers, ReferenceStringsOfSmolLM2) {
  if (smollm2().empty()) GTEST_SKIP() << "no SmolLM2 GGUF in the cache or in ASSAY_SMOLLM2";
  if (!fs::exists(shared_folder)) GTEST_SKIP() << "no shared folder";
  const Json reference = Json::parse(read_file(shared_folder / "models/smollm2-135m/reference.json"));
  const Tokenizer tokenizer = load_tokenizer(smollm2());
  EXPECT_EQ(tokenizer.vocabulary_size(), 49152);
  EXPECT_EQ(tokenizer.kind(), TokenizerKind::byte_level_bpe);
  for (const char* key : {"tokenizer_strings", "tokenizer_strings_where_transformers_gguf_differs_or_may"}) {
    for (const Json& known : reference[key]) {
      EXPECT_EQ(Json(tokenizer.encode(known["text"].get<std::string>())), known["ids"]) << known["text"];
    }
  }
  EXPECT_EQ(tokenizer.encode(read_file(shared_folder / "data/wikitext2/test.txt")).size(), 312'144u);
}

TEST(Tokenizers, ReferenceIdsOfGpt2) {
  if (!fs::exists(shared_folder)) GTEST_SKIP() << "no shared folder";
  const Tokenizer tokenizer = load_tokenizer(shared_folder / "models/gpt2-tokenizer");
  const std::vector<std::int32_t> expected = {15496, 995, 11, 340, 338, 1160, 2075};
  EXPECT_EQ(tokenizer.encode("Hello world, it's 2026"), expected);
  EXPECT_EQ(tokenizer.vocabulary_size(), 50257);
}

}  // namespace
}  // namespace assay
