// Which files of a folder make a tokenizer, and the older formats: vocab.txt, and vocab.json with merges.txt.
#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/paths.h"
#include "base/printable.h"
#include "text/tokenizer_parts.h"
#include "text/unicode.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

/// The lines of a text, without line ends ("\n" or "\r\n"). Throws a user error where the text is not UTF-8.
std::vector<std::string> read_lines(const fs::path& path) {
  const std::string content = read_file(path);
  unicode::check_utf8(content, path.string());
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < content.size();) {
    const std::size_t end = std::min(content.find('\n', at), content.size());
    const bool carriage_return = end > at && content[end - 1] == '\r';
    lines.push_back(content.substr(at, end - at - (carriage_return ? 1 : 0)));
    at = end + 1;
  }
  return lines;
}

/// tokenizer_config.json of a folder, which may lack one.
struct TokenizerConfig {
  Json file = Json::object();
  std::string name;

  /// A special token, written as a string or as an object with its content.
  AddedToken special(const char* key, const std::string& fallback) const {
    const Json& value = member(file, key, name);
    AddedToken token;
    if (value.is_object()) token = read_added_token(value, name);
    if (!value.is_object()) token.content = text(file, key, fallback, name);
    token.special = true;
    token.normalized = false;
    token.id = -1;
    return token;
  }
};

TokenizerConfig read_config(const fs::path& folder) {
  TokenizerConfig config;
  const fs::path path = folder / "tokenizer_config.json";
  config.name = path.string();
  if (is_there(path)) config.file = parse_json(read_file(path), config.name);
  return config;
}

/// Adds tokens of `more` that `tokens` lacks.
void append_missing(std::vector<AddedToken>& tokens, const std::vector<AddedToken>& more) {
  for (const AddedToken& token : more) {
    const auto same = [&](const AddedToken& other) { return other.content == token.content; };
    if (std::none_of(tokens.begin(), tokens.end(), same)) tokens.push_back(token);
  }
}

/// "added_tokens_decoder": {"50256": {"content": ...}}, in the order of the ids.
std::vector<AddedToken> read_added_tokens_decoder(const TokenizerConfig& config) {
  std::vector<AddedToken> tokens;
  const Json& decoder = member(config.file, "added_tokens_decoder", config.name);
  if (decoder.is_null()) return tokens;
  if (!decoder.is_object()) fail_user("{}: 'added_tokens_decoder' is not an object", config.name);
  for (const auto& [id, entry] : decoder.items()) {
    if (id.empty() || id.size() > 9 ||
        !std::all_of(id.begin(), id.end(), [](char c) { return c >= '0' && c <= '9'; })) {
      fail_user("{}: 'added_tokens_decoder' has the id '{}'", config.name, printable(id));
    }
    tokens.push_back(read_added_token(entry, config.name));
    tokens.back().id = std::stoi(id);
  }
  std::sort(tokens.begin(), tokens.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  return tokens;
}

Vocabulary read_vocabulary_lines(const fs::path& path) {
  Vocabulary vocabulary;
  for (const std::string& token : read_lines(path)) {
    insert_token(vocabulary, token, static_cast<std::int64_t>(vocabulary.size()), path.string());
  }
  return vocabulary;
}

std::int32_t need_id(const Vocabulary& vocabulary, const AddedToken& token, const std::string& name) {
  const std::int32_t id = find_id(vocabulary, token.content);
  if (id < 0) fail_user("{}: lacks the token '{}'", name, printable(token.content));
  return id;
}

/// As transformers builds BertTokenizer and DistilBertTokenizer from their slow files.
Tokenizer load_vocabulary_text(const fs::path& path) {
  const std::string name = path.string();
  const TokenizerConfig config = read_config(path.parent_path());
  const Vocabulary vocabulary = read_vocabulary_lines(path);
  CharacterStep step;
  step.clean_text = true;
  step.pad_cjk = flag(config.file, "tokenize_chinese_chars", true, config.name);
  step.lowercase = flag(config.file, "do_lower_case", true, config.name);
  step.strip_marks = flag(config.file, "strip_accents", step.lowercase, config.name);
  if (step.strip_marks) step.decomposed = CharacterStep::Form::canonical;

  Tokenizer tokenizer;
  tokenizer.normalizer = {step};
  tokenizer.splits = {{Splitter::bert}};
  tokenizer.decoder = {WordPieceDecoder{.prefix = "##"}};
  const AddedToken unknown = config.special("unk_token", "[UNK]");
  const AddedToken first = config.special("cls_token", "[CLS]");
  const AddedToken last = config.special("sep_token", "[SEP]");
  need_id(vocabulary, unknown, name);
  tokenizer.model = make_wordpiece(vocabulary, unknown.content, "##");
  tokenizer.prefix = {need_id(vocabulary, first, name)};
  tokenizer.suffix = {need_id(vocabulary, last, name)};

  std::vector<AddedToken> tokens = read_added_tokens_decoder(config);
  append_missing(tokens,
                 {unknown, last, config.special("pad_token", "[PAD]"), first, config.special("mask_token", "[MASK]")});
  std::erase_if(tokens, [&](const auto& token) { return token.id < 0 && find_id(vocabulary, token.content) < 0; });
  add_tokens(tokenizer, vocabulary, tokens, name);
  return tokenizer;
}

std::vector<std::pair<std::string, std::string>> read_merge_lines(const fs::path& path) {
  std::vector<std::pair<std::string, std::string>> merges;
  int number = 0;
  for (const std::string& line : read_lines(path)) {
    ++number;
    if (line.empty() || line.starts_with("#version")) continue;
    merges.push_back(read_merge(line, fmt::format("{}:{}", path.string(), number)));
  }
  return merges;
}

/// As transformers builds GPT2Tokenizer from its slow files.
Tokenizer load_vocabulary_and_merges(const fs::path& folder) {
  const std::string name = (folder / "vocab.json").string();
  const TokenizerConfig config = read_config(folder);
  const Vocabulary vocabulary = read_vocabulary(parse_json(read_file(folder / "vocab.json"), name), name);
  const fs::path merges = folder / "merges.txt";
  Tokenizer tokenizer;
  tokenizer.model = make_bpe(vocabulary, read_merge_lines(merges), merges.string());
  const bool prefix = flag(config.file, "add_prefix_space", false, config.name);
  tokenizer.splits = {{Splitter::gpt2, prefix ? PrefixSpace::always : PrefixSpace::never}};
  tokenizer.decoder = {ByteLevelDecoder{}};
  std::vector<AddedToken> tokens = read_added_tokens_decoder(config);
  for (const char* key : {"unk_token", "bos_token", "eos_token"}) {
    append_missing(tokens, {config.special(key, "<|endoftext|>")});
  }
  append_missing(tokens, {config.special("pad_token", "")});
  std::erase_if(tokens, [&](const auto& token) { return token.id < 0 && find_id(vocabulary, token.content) < 0; });
  add_tokens(tokenizer, vocabulary, tokens, name);
  return tokenizer;
}

/// Files that DeBERTa and others were published with, and no tokenizer.json beside them.
constexpr const char* sentencepiece_files[] = {"spm.model", "spiece.model", "sentencepiece.bpe.model",
                                               "tokenizer.model"};

[[noreturn]] void fail_without_files(const fs::path& folder) {
  for (const char* file : sentencepiece_files) {
    if (is_there(folder / file))
      fail_user("{}: is not read; transformers writes a tokenizer.json of it (AutoTokenizer's save_pretrained)",
                (folder / file).string());
  }
  fail_user("{}: has no tokenizer.json, no vocab.json with merges.txt and no vocab.txt", folder.string());
}

}  // namespace

Tokenizer load_tokenizer(const fs::path& path) {
  if (has_ending(path, ".gguf")) return load_gguf_tokenizer(path);
  if (path.filename() == "vocab.txt") return load_vocabulary_text(path);
  if (!is_folder(path)) return parse_tokenizer_json(read_file(path), path.string());
  if (const fs::path json = path / "tokenizer.json"; is_there(json)) {
    return parse_tokenizer_json(read_file(json), json.string());
  }
  if (is_there(path / "vocab.json") && is_there(path / "merges.txt")) return load_vocabulary_and_merges(path);
  if (is_there(path / "vocab.txt")) return load_vocabulary_text(path / "vocab.txt");
  fail_without_files(path);
}

}  // namespace assay
