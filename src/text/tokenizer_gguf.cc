#include <algorithm>

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

/// The ways to split that `tokenizer.ggml.pre` names.
std::vector<SplitStep> splits_of(const std::string& pre, const std::string& name) {
  if (pre == "gpt-2" || pre == "gpt2") return {{Splitter::gpt2}};
  if (pre == "smollm") return {{Splitter::digits}, {Splitter::gpt2}};
  if (pre == "llama-bpe" || pre == "llama-v3" || pre == "llama3") return {{Splitter::llama3}};
  if (pre == "qwen2") return {{Splitter::qwen2}};
  fail_user("{}: tokenizer.ggml.pre is '{}'; gpt-2, smollm, llama-bpe and qwen2 are supported", name, printable(pre));
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
  if (!truth_or_false(file, wanted)) return {};
  const std::int64_t id = file.integer(id_key);
  if (id < 0 || id > largest) fail_user("{}: {} is {}, the largest id is {}", file.name, id_key, id, largest);
  return {static_cast<std::int32_t>(id)};
}

}  // namespace

Tokenizer load_gguf_tokenizer(const std::filesystem::path& path) {
  const Gguf file = open_gguf(path);
  const std::string model(file.text("tokenizer.ggml.model"));
  if (model != "gpt2") fail_user("{}: tokenizer.ggml.model is '{}'; gpt2 is supported", file.name, printable(model));
  const std::string pre(file.text("tokenizer.ggml.pre"));
  const Vocabulary vocabulary = read_tokens(file);
  Tokenizer tokenizer;
  tokenizer.splits = splits_of(pre, file.name);
  if (truth_or_false(file, "tokenizer.ggml.add_space_prefix")) {
    fail_user("{}: tokenizer.ggml.add_space_prefix with a gpt2 vocabulary is not supported", file.name);
  }
  tokenizer.model = make_bpe(vocabulary, gguf_merges(file), file.name);
  add_tokens(tokenizer, vocabulary, gguf_added_tokens(file), file.name);
  const std::int64_t largest = tokenizer.largest_id;
  tokenizer.prefix = wanted_id(file, "tokenizer.ggml.add_bos_token", "tokenizer.ggml.bos_token_id", largest);
  tokenizer.suffix = wanted_id(file, "tokenizer.ggml.add_eos_token", "tokenizer.ggml.eos_token_id", largest);
  return tokenizer;
}

}  // namespace assay
