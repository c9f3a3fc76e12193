#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/printable.h"
#include "formats/gguf.h"
#include "text/tokenizer_parts.h"
#include "text/unicode.h"

namespace assay {
namespace {

/// Token types of `tokenizer.ggml.token_type` that are found in the text as they stand.
constexpr std::int64_t control = 3;
constexpr std::int64_t user_defined = 4;

constexpr const char* gpt4o =
    "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+"
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
    "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*"
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
constexpr const char* tekken =
    "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+|"
    "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*|"
    "\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
constexpr const char* deepseek_words =
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|"
    "[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";

/// Whether a word that is a token is taken as it is, without merges.
enum class WholeWords { merge, take };

/// A name in `tokenizer.ggml.pre`; an expression stands where no hand-written way to split does.
struct PreName {
  const char* name;
  std::vector<Splitter> splitters;
  std::vector<const char*> expressions = {};
  WholeWords whole_words = WholeWords::merge;
};

const std::vector<PreName>& pre_names() {
  static const std::vector<PreName> names = {
      {"gpt-2", {Splitter::gpt2}},
      {"gpt2", {Splitter::gpt2}},
      {"mpt", {Splitter::gpt2}},
      {"olmo", {Splitter::gpt2}},
      {"phi-2", {Splitter::gpt2}},
      {"smollm", {Splitter::digits, Splitter::gpt2}},
      {"starcoder", {Splitter::digits, Splitter::gpt2}},
      {"command-r", {Splitter::digits, Splitter::gpt2}},
      {"llama-bpe", {Splitter::llama3}, {}, WholeWords::take},
      {"llama-v3", {Splitter::llama3}, {}, WholeWords::take},
      {"llama3", {Splitter::llama3}, {}, WholeWords::take},
      {"qwen2", {Splitter::qwen2}},
      {"stablelm2", {Splitter::qwen2}},
      {"deepseek-r1-qwen", {Splitter::qwen2}},
      {"gpt-4o", {}, {gpt4o}},
      {"tekken", {}, {tekken}, WholeWords::take},
      {"deepseek-v3", {}, {"\\p{N}{1,3}", "[\u4E00-\u9FA5\u3040-\u309F\u30A0-\u30FF]+", deepseek_words}},
  };
  return names;
}

const PreName& find_pre(const std::string& pre, const std::string& name) {
  std::string known;
  for (const PreName& candidate : pre_names()) {
    if (pre == candidate.name) return candidate;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", candidate.name);
  }
  fail_user("{}: tokenizer.ggml.pre is '{}'; known are {}", name, printable(pre), known);
}

std::vector<SplitStep> splits_of(const PreName& pre, const std::string& name) {
  std::vector<SplitStep> splits;
  splits.reserve(pre.splitters.size() + pre.expressions.size());
  for (const Splitter splitter : pre.splitters) splits.push_back({splitter});
  for (const char* expression : pre.expressions) splits.push_back(split_step_of(expression, name));
  return splits;
}

Vocabulary read_tokens(const Gguf& file) {
  Vocabulary vocabulary;
  for (const std::string_view token : file.texts("tokenizer.ggml.tokens")) {
    unicode::check_utf8(token, file.name + ": token " + std::to_string(vocabulary.size()));
    insert_token(vocabulary, std::string(token), static_cast<std::int64_t>(vocabulary.size()), file.name);
  }
  return vocabulary;
}

std::vector<std::pair<std::string, std::string>> gguf_merges(const Gguf& file) {
  std::vector<std::pair<std::string, std::string>> merges;
  for (const std::string_view line : file.texts("tokenizer.ggml.merges")) {
    merges.push_back(read_merge(std::string(line), fmt::format("{}: merge {}", file.name, merges.size() + 1)));
  }
  return merges;
}

std::vector<AddedToken> gguf_added_tokens(const Gguf& file) {
  std::vector<AddedToken> added;
  if (file.find("tokenizer.ggml.token_type") == nullptr) return added;
  const std::vector<std::string_view> tokens = file.texts("tokenizer.ggml.tokens");
  const std::vector<std::int64_t> types = file.integers("tokenizer.ggml.token_type");
  if (types.size() != tokens.size()) {
    fail_user("{}: {} token types for {} tokens", file.name, types.size(), tokens.size());
  }
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (types[i] != control && types[i] != user_defined) continue;
    AddedToken token;
    token.content = tokens[i];
    token.id = static_cast<std::int32_t>(i);
    token.special = types[i] == control;
    added.push_back(token);
  }
  return added;
}

bool truth_or_false(const Gguf& file, const char* key) {
  return file.find(key) != nullptr && file.truth(key);
}

/// A token that the file wants put before or after every text.
std::vector<std::int32_t> wanted_id(const Gguf& file, const char* wanted, const char* id_key, std::int64_t largest) {
  // Where a vocabulary with scores says nothing, its texts begin with one and end without.
  const bool unsaid = file.find(wanted) == nullptr && file.text("tokenizer.ggml.model") == "llama" &&
                      std::string_view(wanted) == "tokenizer.ggml.add_bos_token";
  if (!unsaid && !truth_or_false(file, wanted)) return {};
  const std::int64_t id = file.integer(id_key);
  if (id < 0 || id > largest) fail_user("{}: {} is {}, the largest id is {}", file.name, id_key, id, largest);
  return {static_cast<std::int32_t>(id)};
}

/// A byte-level vocabulary with merges.
Vocabulary read_merged_model(const Gguf& file, Tokenizer& tokenizer) {
  const PreName& pre = find_pre(std::string(file.text("tokenizer.ggml.pre")), file.name);
  Vocabulary vocabulary = read_tokens(file);
  tokenizer.splits = splits_of(pre, file.name);
  if (truth_or_false(file, "tokenizer.ggml.add_space_prefix")) {
    fail_user("{}: tokenizer.ggml.add_space_prefix with a gpt2 vocabulary is not supported", file.name);
  }
  Bpe made = make_bpe(vocabulary, gguf_merges(file), file.name);
  std::string bytes;
  for (const auto& [token, id] : vocabulary) {
    if (pre.whole_words == WholeWords::take && token_bytes(token, bytes)) made.whole_words.emplace(bytes, id);
  }
  tokenizer.model = std::move(made);
  tokenizer.decoder = {ByteLevelDecoder{}};
  return vocabulary;
}

/// A vocabulary of sentencepiece with scores: neighbours are merged by score, unknown characters become their bytes.
/// Spaces are written as U+2581, one is put before the text and after each special token.
Vocabulary read_scored_model(const Gguf& file, Tokenizer& tokenizer) {
  Vocabulary vocabulary = read_tokens(file);
  const std::vector<float> scores = file.floats("tokenizer.ggml.scores");
  if (scores.size() != vocabulary.size()) {
    fail_user("{}: {} scores for {} tokens", file.name, scores.size(), vocabulary.size());
  }
  if (!std::all_of(scores.begin(), scores.end(), [](float score) { return std::isfinite(score); })) {
    fail_user("{}: tokenizer.ggml.scores has a score that is no number", file.name);
  }
  Bpe made = make_scored_bpe(vocabulary, {scores.begin(), scores.end()}, file.name);
  const bool named = file.find("tokenizer.ggml.unknown_token_id") != nullptr;
  const std::int64_t unknown = named ? file.integer("tokenizer.ggml.unknown_token_id") : 0;
  if (unknown < 0 || unknown >= static_cast<std::int64_t>(scores.size())) {
    fail_user("{}: tokenizer.ggml.unknown_token_id is {} of {} tokens", file.name, unknown, scores.size());
  }
  made.characters->unknown = static_cast<std::int32_t>(unknown);
  tokenizer.model = std::move(made);
  cut_at_marks(tokenizer);
  const bool prefix =
      file.find("tokenizer.ggml.add_space_prefix") == nullptr || file.truth("tokenizer.ggml.add_space_prefix");
  if (prefix) tokenizer.normalizer.emplace_back(Prepend{" "});
  tokenizer.normalizer.emplace_back(Replacement{Expression::of_text(" "), "\u2581"});
  tokenizer.decoder = {Replacement{Expression::of_text("\u2581"), " "}, ByteFallbackDecoder{}, FuseDecoder{}};
  if (prefix) tokenizer.decoder->emplace_back(StripDecoder{.character = " ", .start = 1});
  return vocabulary;
}

}  // namespace

std::vector<std::string> gguf_pre_names() {
  std::vector<std::string> names;
  for (const PreName& pre : pre_names()) names.emplace_back(pre.name);
  return names;
}

Tokenizer load_gguf_tokenizer(const std::filesystem::path& path) {
  return read_gguf_tokenizer(open_gguf(path));
}

Tokenizer read_gguf_tokenizer(const Gguf& file) {
  const std::string model(file.text("tokenizer.ggml.model"));
  if (model != "gpt2" && model != "llama") {
    fail_user("{}: tokenizer.ggml.model is '{}'; gpt2 and llama are supported", file.name, printable(model));
  }
  Tokenizer tokenizer;
  const Vocabulary vocabulary =
      model == "gpt2" ? read_merged_model(file, tokenizer) : read_scored_model(file, tokenizer);
  add_tokens(tokenizer, vocabulary, gguf_added_tokens(file), file.name);
  const std::int64_t largest = tokenizer.largest_id;
  tokenizer.prefix = wanted_id(file, "tokenizer.ggml.add_bos_token", "tokenizer.ggml.bos_token_id", largest);
  tokenizer.suffix = wanted_id(file, "tokenizer.ggml.add_eos_token", "tokenizer.ggml.eos_token_id", largest);
  return tokenizer;
}

}  // namespace assay
