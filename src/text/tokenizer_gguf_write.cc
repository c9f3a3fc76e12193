#include "text/tokenizer_gguf_write.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/paths.h"
#include "text/bundled.h"
#include "text/chat_template.h"
#include "text/tokenizer_parts.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

/// Of `tokenizer.ggml.token_type`.
enum class TokenType : std::int32_t { normal = 1, control = 3, user_defined = 4, unused = 5 };

/// Where families split in other ways: numbers, white space, contractions, letters of many scripts, signs.
constexpr std::string_view odd_characters =
    "I'll don't WE'VE 1 12 123 1234567890 3.14 a1b2 x_y  two   three\t\ttabs \n\n\nlines \r\n\u00e9t\u00e9 "
    "\u041f\u0440\u0438\u0432\u0435\u0442 \u4f60\u597d\u4e16\u754c \u3053\u3093\u306b\u3061\u306f \U0001F600\U0001F680 "
    "!!!??? ...---+++ <tag/> {\"key\": [1, 2]} http://a.b/c?d=e#f CamelCase UPPER l\u00e0-bas ' leading";

/// A byte-level tokenizer.json.
struct JsonTokenizer {
  Json json;
  Tokenizer tokenizer;

  const Json& model() const { return json.at("model"); }
};

std::vector<GgufEntry> copied_tokenizer(const fs::path& path) {
  const Gguf file = open_gguf(path);
  std::vector<GgufEntry> entries;
  for (const GgufValue& value : file.metadata) {
    if (value.key.starts_with("tokenizer.")) entries.push_back(gguf_copy(value));
  }
  return entries;
}

/// Texts and types by id.
struct TokenList {
  std::vector<std::string> texts;
  std::vector<std::int32_t> types;

  explicit TokenList(std::int64_t rows) {
    for (std::int64_t id = 0; id < rows; ++id) texts.push_back(fmt::format("[PAD{}]", id));
    types.assign(texts.size(), static_cast<std::int32_t>(TokenType::unused));
  }
  void set(std::int64_t id, const std::string& text, TokenType type) {
    texts[static_cast<std::size_t>(id)] = text;
    types[static_cast<std::size_t>(id)] = static_cast<std::int32_t>(type);
  }
};

TokenList tokens_of(const JsonTokenizer& from, std::int64_t rows) {
  TokenList list(std::max(rows, from.tokenizer.vocabulary_size()));
  for (const auto& [text, id] : from.model().at("vocab").items())
    list.set(id.get<std::int64_t>(), text, TokenType::normal);
  for (const Json& added : from.json.value("added_tokens", Json::array())) {
    const bool is_special = added.value("special", false);
    list.set(added.at("id").get<std::int64_t>(), added.at("content").get<std::string>(),
             is_special ? TokenType::control : TokenType::user_defined);
  }
  return list;
}

std::vector<std::string> merges_of(const JsonTokenizer& from) {
  std::vector<std::string> merges;
  for (const Json& merge : from.model().at("merges")) {
    merges.push_back(merge.is_string() ? merge.get<std::string>()
                                       : merge.at(0).get<std::string>() + " " + merge.at(1).get<std::string>());
  }
  return merges;
}

/// The id that config.json names: one, or the first of several.
std::optional<std::int64_t> named_id(const Json& config, const char* key) {
  if (!config.contains(key)) return std::nullopt;
  const Json& id = config.at(key).is_array() && !config.at(key).empty() ? config.at(key).at(0) : config.at(key);
  if (!id.is_number_integer() || id < 0) return std::nullopt;
  return id.get<std::int64_t>();
}

/// A token at an end of every text: whether there is one, and which it is.
void add_end(const std::vector<std::int32_t>& added, const Json& config, const std::string& which,
             std::vector<GgufEntry>& entries) {
  entries.push_back(gguf_truth("tokenizer.ggml.add_" + which + "_token", !added.empty()));
  const std::optional<std::int64_t> id =
      added.empty() ? named_id(config, (which + "_token_id").c_str()) : added.front();
  if (id) entries.push_back(gguf_count("tokenizer.ggml." + which + "_token_id", static_cast<std::uint32_t>(*id)));
}

Json config_beside(const fs::path& folder) {
  const fs::path path = folder / "config.json";
  return is_there(path) ? parse_json(read_file(path), path.string()) : Json::object();
}

/// All but the name of the way in which text is split.
std::vector<GgufEntry> vocabulary_entries(const JsonTokenizer& from, const fs::path& folder, std::int64_t rows) {
  const TokenList tokens = tokens_of(from, rows);
  const Json config = config_beside(folder);
  std::vector<GgufEntry> entries = {
      gguf_text("tokenizer.ggml.model", "gpt2"), gguf_texts("tokenizer.ggml.tokens", tokens.texts),
      gguf_integers("tokenizer.ggml.token_type", tokens.types), gguf_texts("tokenizer.ggml.merges", merges_of(from))};
  add_end(from.tokenizer.prefix, config, "bos", entries);
  add_end(from.tokenizer.suffix, config, "eos", entries);
  return entries;
}

/// Texts whose ids tell one way of splitting from another.
std::string telling_text(const JsonTokenizer& from) {
  std::string text = std::string(bundled_text()) + std::string(odd_characters);
  for (const Json& added : from.json.value("added_tokens", Json::array()))
    text += "a " + added.at("content").get<std::string>() + " b" + added.at("content").get<std::string>() + "c\n";
  return text;
}

void cut_on(const std::vector<SplitStep>& steps, std::size_t step, std::string_view text, std::size_t first_bytes,
            std::vector<std::string>& pieces) {
  if (step == steps.size()) {
    pieces.emplace_back(text);
    return;
  }
  split(steps[step], text, first_bytes,
        [&](std::string_view piece, std::size_t first) { cut_on(steps, step + 1, piece, first, pieces); });
}

/// A small vocabulary may give the same ids however a text is cut: both are compared.
struct CutText {
  std::vector<std::string> pieces;
  std::vector<std::int32_t> ids;

  CutText(const Tokenizer& tokenizer, const std::string& text) : ids(tokenizer.encode(text)) {
    cut_on(tokenizer.splits, 0, text, 1, pieces);
  }
  bool operator==(const CutText&) const = default;
};

CutText cut_by(const std::vector<GgufEntry>& entries, const std::string& text) {
  const std::string bytes = gguf_bytes(entries);
  return {read_gguf_tokenizer(parse_gguf(std::as_bytes(std::span(bytes)), "tokenizer")), text};
}

/// Adds the name with which a file cuts texts the same way and gives the same ids; false where none does.
bool add_pre_name(const JsonTokenizer& from, std::vector<GgufEntry>& entries) {
  const std::string text = telling_text(from);
  const CutText wanted(from.tokenizer, text);
  for (const std::string& pre : gguf_pre_names()) {
    entries.push_back(gguf_text("tokenizer.ggml.pre", pre));
    if (cut_by(entries, text) == wanted) return true;
    entries.pop_back();
  }
  return false;
}

/// A model without one has nothing to be written.
void add_chat_template(const fs::path& checkpoint, std::vector<GgufEntry>& entries) {
  try {
    entries.push_back(gguf_text("tokenizer.chat_template", load_chat_template(checkpoint).source));
  } catch (const Error&) {
  }
}

}  // namespace

GgufTokenizer gguf_tokenizer(const fs::path& checkpoint, std::int64_t rows) {
  if (!is_folder(checkpoint)) return {copied_tokenizer(checkpoint)};
  const fs::path file = checkpoint / "tokenizer.json";
  if (!is_there(file)) return {{}, "the model's folder has no tokenizer.json"};
  const std::string text = read_file(file);
  const JsonTokenizer from{parse_json(text, file.string()), parse_tokenizer_json(text, file.string())};
  if (from.tokenizer.kind() != TokenizerKind::byte_level_bpe)
    return {{},
            fmt::format("its tokenizer is {}, and byte-level BPE alone is written", name_of(from.tokenizer.kind()))};
  if (from.tokenizer.prefix.size() > 1 || from.tokenizer.suffix.size() > 1)
    return {{}, "its tokenizer puts several tokens at an end of every text"};
  GgufTokenizer written{vocabulary_entries(from, checkpoint, rows)};
  if (!add_pre_name(from, written.entries))
    return {{}, "its tokenizer gives other ids than any that GGUF has a name for"};
  add_chat_template(checkpoint, written.entries);
  return written;
}

}  // namespace assay
