#pragma once

#include <ctime>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"

namespace assay {

/// A conversation as transformers takes it: an array of objects with "role", "content" and what else the template reads
/// ("reasoning_content", "tool_calls").
using ChatMessages = OrderedJson;

/// How a model wants a conversation written, as its files say.
struct ChatTemplate {
  std::string name;    ///< The file that holds it; begins every error message.
  std::string source;  ///< In Jinja.
  std::vector<std::pair<std::string, std::string>>
      special_tokens;  ///< {"bos_token", "<s>"}: variables of the template.
};

enum class GenerationPrompt { add, omit };

struct ChatOptions {
  GenerationPrompt generation_prompt = GenerationPrompt::add;  ///< Whether the text ends where the answer begins.
  std::string template_name = {};  ///< Of a model with several; the one named "default" where this is empty.
  /// What the template reads besides: {"enable_thinking", false}. They come before special tokens of the same name.
  std::vector<std::pair<std::string, OrderedJson>> variables = {};
  std::optional<std::time_t> now = {};  ///< What strftime_now says; the clock's time where it is not given.
};

/// Reads the template of a folder (chat_template.jinja, else tokenizer_config.json; special tokens from
/// tokenizer_config.json, else special_tokens_map.json) or of a GGUF file. Throws a user error where there is none, or
/// none of that name.
ChatTemplate load_chat_template(const std::filesystem::path& checkpoint, const std::string& template_name = {});

/// The conversation's text, byte for byte as transformers' apply_chat_template(tokenize=False) gives it. Special tokens
/// stand in it as text, the first one too: the tokenizer adds none. Throws a user error of one line where the template
/// is malformed, is outside of what text/jinja knows, or refuses the conversation.
std::string render_chat(const ChatTemplate& chat_template, const ChatMessages& messages, const ChatOptions& options);

/// Both: what a model at this path is to be given for the conversation.
std::string chat_prompt(const std::filesystem::path& checkpoint, const ChatMessages& messages,
                        const ChatOptions& options);

}  // namespace assay
