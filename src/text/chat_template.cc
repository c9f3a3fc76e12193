#include "text/chat_template.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/printable.h"
#include "text/jinja/render.h"
#include "text/unicode.h"

namespace assay {
namespace {

/// What a template gets whatever is asked for.
constexpr std::array reserved_variables = {"messages", "tools", "documents", "add_generation_prompt"};
/// Names of what a model thought before it answered; transformers fills the newer ones from the older.
constexpr std::array reasoning_keys = {"reasoning_content", "thinking", "reasoning"};

jinja::Value to_value(const jinja::Site& site, const OrderedJson& json) {
  if (json.is_null()) return {jinja::None{}};
  if (json.is_boolean()) return {json.get<bool>()};
  if (json.is_number_float()) return {json.get<double>()};
  if (json.is_string()) return jinja::of_text(site, json.get<std::string>());
  if (json.is_number_unsigned() && json.get<std::uint64_t>() > INT64_MAX)
    site.refuse("an int beyond 64 bits is not supported");
  if (json.is_number()) return {json.get<std::int64_t>()};
  if (json.is_array()) {
    jinja::Items items;
    for (const OrderedJson& item : json) items.push_back(to_value(site, item));
    return jinja::of_items(site, std::move(items));
  }
  std::vector<std::pair<std::string, jinja::Value>> members;
  for (const auto& [key, member] : json.items()) members.emplace_back(key, to_value(site, member));
  return jinja::of_members(site, std::move(members));
}

/// A message as transformers hands it on: without what is null, its reasoning under each name.
OrderedJson plain_message(const OrderedJson& message) {
  OrderedJson kept = OrderedJson::object();
  for (const auto& [key, value] : message.items()) {
    if (!value.is_null()) kept[key] = value;
  }
  const auto* const key =
      std::find_if(reasoning_keys.begin(), reasoning_keys.end(), [&](const char* name) { return kept.contains(name); });
  if (key == reasoning_keys.end()) return kept;
  const OrderedJson reasoning = kept[*key];
  OrderedJson made = {{"thinking", reasoning}};
  made.update(kept);
  made["reasoning_content"] = reasoning;
  return made;
}

OrderedJson plain_messages(const ChatMessages& messages, const std::string& name) {
  if (!messages.is_array() || messages.empty()) fail_user("{}: a chat is a list of messages, at least one", name);
  OrderedJson made = OrderedJson::array();
  for (const OrderedJson& message : messages) {
    if (!message.is_object()) fail_user("{}: message {} of the chat is no object", name, made.size() + 1);
    made.push_back(plain_message(message));
  }
  return made;
}

}  // namespace

std::string render_chat(const ChatTemplate& chat_template, const ChatMessages& messages, const ChatOptions& options) {
  const std::string& name = chat_template.name;
  jinja::RenderOptions given;
  given.now = options.now.value_or(std::time(nullptr));
  const jinja::Site site{name, 1, given.budget};
  const auto add = [&](const std::string& key, jinja::Value value) {
    given.variables.emplace_back(key, std::move(value));
  };
  add("messages", to_value(site, plain_messages(messages, name)));
  add("tools", {jinja::None{}});
  add("documents", {jinja::None{}});
  add("add_generation_prompt", {options.generation_prompt == GenerationPrompt::add});
  for (const auto& [key, value] : options.variables) {
    if (std::find(reserved_variables.begin(), reserved_variables.end(), key) != reserved_variables.end()) {
      fail_user("{}: the variable '{}' of the chat template is not free to set", name, key);
    }
    add(key, to_value(site, value));
  }
  for (const auto& [key, text] : chat_template.special_tokens) {
    unicode::check_utf8(text, name + ": " + key);
    add(key, jinja::of_text(site, text));
  }
  return jinja::render(chat_template.source, name, given);
}

std::string chat_prompt(const std::filesystem::path& checkpoint, const ChatMessages& messages,
                        const ChatOptions& options) {
  return render_chat(load_chat_template(checkpoint, options.template_name), messages, options);
}

}  // namespace assay
