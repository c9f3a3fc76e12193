// Where a model's files hold its chat template, and the texts of its special tokens.
#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/file.h"
#include "base/paths.h"
#include "base/printable.h"
#include "formats/gguf.h"
#include "text/chat_template.h"
#include "text/tokenizer_parts.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t largest_template = std::size_t{1} << 22;

Json json_file(const fs::path& path) {
  return is_there(path) ? parse_json(read_file(path), path.string()) : Json::object();
}

/// The text of a special token, which is written as it is or as an object with its content; empty where it is neither.
std::string token_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  const bool has_content = value.is_object() && value.contains("content") && value["content"].is_string();
  return has_content ? value["content"].get<std::string>() : "";
}

/// Adds each "..._token" of the file that is not there yet.
void append_special_tokens(const fs::path& path, ChatTemplate& made) {
  const Json file = json_file(path);
  if (!file.is_object()) fail_user("{}: is no object", path.string());
  for (const auto& [key, value] : file.items()) {
    const auto known = [&key = key](const auto& token) { return token.first == key; };
    const std::string text = token_text(value);
    const bool is_new = std::none_of(made.special_tokens.begin(), made.special_tokens.end(), known);
    if (key.ends_with("_token") && !text.empty() && is_new) made.special_tokens.emplace_back(key, text);
  }
}

/// One of [{"name": "default", "template": ".."}, ..].
std::string named_template(const Json& list, const std::string& wanted, const std::string& name) {
  std::string known;
  for (const Json& entry : list) {
    const std::string entry_name = text(entry, "name", "", name);
    if (entry_name == wanted) return text(entry, "template", "", name);
    known += (known.empty() ? "" : ", ") + printable(entry_name, 40);
  }
  fail_user("{}: has no chat template '{}'; there are {}", name, printable(wanted, 40), known);
}

[[noreturn]] void refuse_name(const std::string& name, const std::string& wanted) {
  fail_user("{}: has one chat template without a name, not '{}'", name, printable(wanted, 40));
}

void read_folder_template(const fs::path& folder, const std::string& wanted, ChatTemplate& made) {
  const bool default_wanted = wanted.empty() || wanted == "default";
  const fs::path file = folder / "chat_template.jinja";
  made.name = file.string();
  if (is_there(file) && !default_wanted) refuse_name(made.name, wanted);
  if (is_there(file)) return void(made.source = read_file(file, largest_template));
  const fs::path config = folder / "tokenizer_config.json";
  made.name = config.string();
  const Json json = json_file(config);
  const Json& stored = member(json, "chat_template", made.name);
  if (stored.is_null()) {
    fail_user("{}: has no chat template (chat_template.jinja, or 'chat_template' in tokenizer_config.json)",
              folder.string());
  }
  if (stored.is_array())
    return void(made.source = named_template(stored, default_wanted ? "default" : wanted, made.name));
  if (!stored.is_string()) fail_user("{}: 'chat_template' is neither a text nor a list", made.name);
  if (!default_wanted) refuse_name(made.name, wanted);
  made.source = stored.get<std::string>();
}

/// Ids of special tokens under "tokenizer.ggml.", and their variables' names.
struct GgufToken {
  const char* variable;
  const char* key;
};
constexpr std::array gguf_special_tokens = {
    GgufToken{"bos_token", "tokenizer.ggml.bos_token_id"},
    GgufToken{"eos_token", "tokenizer.ggml.eos_token_id"},
    GgufToken{"unk_token", "tokenizer.ggml.unknown_token_id"},
    GgufToken{"sep_token", "tokenizer.ggml.seperator_token_id"},
    GgufToken{"pad_token", "tokenizer.ggml.padding_token_id"},
    GgufToken{"cls_token", "tokenizer.ggml.cls_token_id"},
    GgufToken{"mask_token", "tokenizer.ggml.mask_token_id"},
};

ChatTemplate read_gguf_template(const fs::path& path, const std::string& wanted) {
  const Gguf file = open_gguf(path);
  const bool default_wanted = wanted.empty() || wanted == "default";
  const std::string key = "tokenizer.chat_template" + (default_wanted ? "" : "." + wanted);
  if (file.find(key) == nullptr)
    fail_user("{}: has no chat template ('{}' in its metadata)", file.name, printable(key));
  ChatTemplate made{.name = file.name, .source = std::string(file.text(key)), .special_tokens = {}};
  const std::vector<std::string_view> tokens = file.texts("tokenizer.ggml.tokens");
  for (const GgufToken& token : gguf_special_tokens) {
    if (file.find(token.key) == nullptr) continue;
    const std::int64_t id = file.integer(token.key);
    if (id < 0 || id >= static_cast<std::int64_t>(tokens.size())) {
      fail_user("{}: {} is {} of {} tokens", file.name, token.key, id, tokens.size());
    }
    made.special_tokens.emplace_back(token.variable, tokens[static_cast<std::size_t>(id)]);
  }
  return made;
}

}  // namespace

ChatTemplate load_chat_template(const fs::path& checkpoint, const std::string& template_name) {
  if (has_ending(checkpoint, ".gguf")) return read_gguf_template(checkpoint, template_name);
  const fs::path folder = is_folder(checkpoint) ? checkpoint : checkpoint.parent_path();
  ChatTemplate made;
  read_folder_template(folder, template_name, made);
  append_special_tokens(folder / "tokenizer_config.json", made);
  append_special_tokens(folder / "special_tokens_map.json", made);
  return made;
}

}  // namespace assay
