#include "text/chat_template.h"

#include <fstream>

#include "base/json.h"
#include "base/testing.h"
#include "formats/gguf.h"
#include "text/jinja/render.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

const fs::path chat_fixtures = fs::path(ASSAY_SOURCE_DIR) / "src/text/chat_fixtures";

/// Times are shown in the zone in which the fixture was made, whatever this machine's is.
void use_universal_time() {
  setenv("TZ", "UTC", 1);
  tzset();
}

OrderedJson renderings() {
  return OrderedJson::parse(read_file(chat_fixtures / "renderings.json"));
}

ChatTemplate fixture_template(const OrderedJson& fixture, const std::string& source) {
  ChatTemplate made{.name = "fixture", .source = source, .special_tokens = {}};
  for (const auto& [key, text] : fixture["special_tokens"].items()) made.special_tokens.emplace_back(key, text);
  return made;
}

ChatOptions fixture_options(const OrderedJson& fixture, const OrderedJson& variables) {
  ChatOptions options;
  options.now = fixture["now"].get<std::time_t>();
  for (const auto& [key, value] : variables.items()) options.variables.emplace_back(key, value);
  return options;
}

/// What transformers said when it refused; what is undefined it words in its own way.
void expect_refused(const OrderedJson& item, const ChatTemplate& of, const ChatMessages& messages,
                    const ChatOptions& options) {
  const std::string message = user_error_of([&] { render_chat(of, messages, options); });
  const std::string theirs = item["error"];
  const bool undefined = theirs.find("has no attribute") != std::string::npos;
  EXPECT_NE(message.find(undefined ? "is undefined" : theirs), std::string::npos) << message << " against " << theirs;
}

TEST(ChatTemplate, OfWellKnownModelsGivesWhatTransformersGives) {
  use_universal_time();
  const OrderedJson fixture = renderings();
  for (const OrderedJson& item : fixture["cases"]) {
    SCOPED_TRACE(item["template"].get<std::string>() + ": " + item["conversation"].get<std::string>());
    const fs::path file = chat_fixtures / (item["template"].get<std::string>() + ".jinja");
    const ChatTemplate of = fixture_template(fixture, read_file(file));
    ChatOptions options = fixture_options(fixture, item["variables"]);
    if (!item["generation_prompt"].get<bool>()) options.generation_prompt = GenerationPrompt::omit;
    const OrderedJson& messages = fixture["conversations"][item["conversation"].get<std::string>()];
    if (item.contains("error")) {
      expect_refused(item, of, messages, options);
    } else {
      EXPECT_EQ(render_chat(of, messages, options), item["text"].get<std::string>());
    }
  }
  EXPECT_GT(fixture["cases"].size(), 300U);
}

TEST(ChatTemplate, IsTheLanguageThatJinjaReads) {
  use_universal_time();
  const OrderedJson fixture = renderings();
  const OrderedJson messages = OrderedJson::array({{{"role", "user"}, {"content", "x"}}});
  for (const OrderedJson& item : fixture["language"]) {
    const ChatTemplate of = fixture_template(fixture, item["template"]);
    EXPECT_EQ(render_chat(of, messages, fixture_options(fixture, fixture["language_variables"])), item["text"])
        << of.source;
  }
}

std::string rendered(std::string_view source) {
  return jinja::render(source, "T", {});
}

struct Refusal {
  const char* source;
  const char* message;
};

TEST(ChatTemplate, WhatIsNotSupportedIsRefusedByNameAndLine) {
  const Refusal refusals[] = {
      {"a\n{{ 'x' | wordwrap }}", "T: line 2 of the chat template: the filter 'wordwrap' is not supported"},
      {"{% include 'x' %}", "line 1 of the chat template: the statement 'include' is not supported"},
      {"\n\n{% call m() %}{% endcall %}", "line 3 of the chat template: the statement 'call' is not supported"},
      {"{{ 1 is sameas 1 }}", "the test 'sameas' is not supported"},
      {"{{ 'a'.center(3) }}", "the method 'center' of a str is not supported"},
      {"{{ {}.pop('a') }}", "the method 'pop' of a dict is not supported"},
      {"{% for x in [1] %}{{ loop.cycle(1, 2) }}{% endfor %}", "'loop.cycle()' is not supported"},
      {"{% for x in [1] %}{{ loop }}{% endfor %}", "'loop' as a value is not supported"},
      {"{{ lipsum }}", "the function 'lipsum' is not supported"},
      {"{{ 2 ** 3 }}", "'**' is not supported"},
      {"{{ 9223372036854775807 }}", "the number that begins with"},
      {"{{ 'é' | upper }}", "'upper' of letters beyond ASCII is not supported"},
      {"{{ x.y }}", "'x' is undefined"},
      {"{{ ''.__class__ }}", "the attribute '__class__' is not supported"},
      {"{{ 1 // 0 }}", "a division by zero"},
      {"{{ raise_exception('No\nsuch\x1b role') }}", "T: the chat template refuses this: No\\x0asuch\\x1b role"},
      {"{% if true %}", "'endif' is expected, not the end of the template"},
      {"{% endfor %}", "'endfor' closes nothing"},
      {"{{ 'a", "a string has no end"},
      {"{{ a", "a tag has no '}}'"},
      {"{# a", "a comment has no end"},
      {"{{ (1] }}", "a ']' that closes nothing"},
      {"{{ @ }}", "'@' in a tag"},
      {"{{ '\xff' }}", "T: the chat template"},
  };
  for (const auto& [source, message] : refusals) {
    EXPECT_NE(user_error_of([&source = source] { rendered(source); }).find(message), std::string::npos)
        << source << ": " << user_error_of([&source = source] { rendered(source); });
  }
}

std::string times(const std::string& text, int count) {
  std::string made;
  for (int i = 0; i < count; ++i) made += text;
  return made;
}

TEST(ChatTemplate, DepthStepsAndSizesAreBounded) {
  const Refusal refusals[] = {
      {"{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}", "takes too many steps"},
      {"{% set ns = namespace(x='a') %}{% for i in range(99) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}",
       "longer than"},
      {"{{ 'ab' * 999999999999 }}", "longer than"},
      {"{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "macros are called in one another"},
      {"{{ range(1000000000) }}", "a bound beyond"},
      {"{% set ns = namespace(x=[]) %}{% for i in range(99) %}{% set ns.x = [ns.x] %}{% endfor %}", "nested deeper"},
  };
  for (const auto& [source, message] : refusals) {
    EXPECT_NE(user_error_of([&source = source] { rendered(source); }).find(message), std::string::npos) << source;
  }
  for (const std::string& source :
       {"{{ " + times("(", 5000), "{{ " + times("[", 5000), "{{ " + times("not ", 5000) + "1 }}",
        "{{ 1" + times(" + 1", 5000) + " }}", "{{ " + times("-", 5000) + "1 }}", "{{ x" + times(".y", 5000) + " }}",
        times("{% if true %}", 5000)}) {
    user_error_of([&] { rendered(source); });
  }
}

/// A folder of files, gone with the object.
struct ModelFolder {
  fs::path path;
  ModelFolder() {
    std::string name = (fs::temp_directory_path() / "assay-chat-XXXXXX").string();
    path = mkdtemp(name.data());
  }
  ~ModelFolder() { fs::remove_all(path); }
  void put(const char* file, const std::string& text) const { std::ofstream(path / file) << text; }
};

const ChatMessages greeting = OrderedJson::array({{{"role", "user"}, {"content", "Hi"}}});

TEST(ChatTemplate, IsFoundInTheFilesOfAModel) {
  const ModelFolder folder;
  EXPECT_NE(user_error_of([&] { load_chat_template(folder.path); }).find("has no chat template"), std::string::npos);
  folder.put("tokenizer_config.json",
             R"({"chat_template": "{{ bos_token ~ eos_token ~ pad_token ~ messages[0].content }}",
    "bos_token": "<b>", "eos_token": {"content": "<e>", "lstrip": false}, "pad_token": null, "add_bos_token": true})");
  folder.put("special_tokens_map.json", R"({"bos_token": "<other>", "pad_token": "<p>"})");
  EXPECT_EQ(chat_prompt(folder.path, greeting, {}), "<b><e><p>Hi");
  folder.put("model.safetensors", "");
  EXPECT_EQ(chat_prompt(folder.path / "model.safetensors", greeting, {}), "<b><e><p>Hi");
  folder.put("chat_template.jinja", "{{ eos_token }}\n");
  EXPECT_EQ(chat_prompt(folder.path, greeting, {}), "<e>") << "the file beside comes before";
}

TEST(ChatTemplate, OfSeveralIsTakenByName) {
  const ModelFolder folder;
  folder.put("tokenizer_config.json",
             R"({"chat_template": [{"name": "default", "template": "D"}, {"name": "rag", "template": "R"}]})");
  EXPECT_EQ(chat_prompt(folder.path, greeting, {}), "D");
  EXPECT_EQ(chat_prompt(folder.path, greeting, {.template_name = "rag"}), "R");
  EXPECT_NE(user_error_of([&] { load_chat_template(folder.path, "tool_use"); }).find("there are default, rag"),
            std::string::npos);
  folder.put("tokenizer_config.json", R"({"chat_template": 3})");
  EXPECT_NE(user_error_of([&] { load_chat_template(folder.path); }).find("neither a text nor a list"),
            std::string::npos);
}

template <typename T>
std::string gguf_bytes(T value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof(value));
}

/// A text as GGUF has it: its length, its bytes.
std::string sized(const std::string& text) {
  return gguf_bytes(std::uint64_t{text.size()}) + text;
}

std::string gguf_entry(const std::string& key, GgufType type, const std::string& value) {
  return sized(key) + gguf_bytes(static_cast<std::uint32_t>(type)) + value;
}

/// A file without tensors.
std::string gguf_of(const std::vector<std::string>& entries) {
  std::string made =
      "GGUF" + gguf_bytes(std::uint32_t{3}) + gguf_bytes(std::uint64_t{0}) + gguf_bytes(std::uint64_t{entries.size()});
  for (const std::string& entry : entries) made += entry;
  return made;
}

TEST(ChatTemplate, IsFoundInTheMetadataOfGguf) {
  const ModelFolder folder;
  const std::string tokens = gguf_entry("tokenizer.ggml.tokens", GgufType::array,
                                        gguf_bytes(static_cast<std::uint32_t>(GgufType::text)) +
                                            gguf_bytes(std::uint64_t{2}) + sized("<b>") + sized("<e>"));
  const std::string one = gguf_entry("tokenizer.chat_template", GgufType::text, sized("{{ bos_token ~ eos_token }}"));
  const std::string named = gguf_entry("tokenizer.chat_template.rag", GgufType::text, sized("R"));
  const std::string begin = gguf_entry("tokenizer.ggml.bos_token_id", GgufType::u32, gguf_bytes(std::uint32_t{0}));
  const auto end = [](std::uint32_t id) {
    return gguf_entry("tokenizer.ggml.eos_token_id", GgufType::u32, gguf_bytes(id));
  };
  const fs::path file = folder.path / "m.gguf";
  folder.put("m.gguf", gguf_of({tokens, one, named, begin, end(1)}));
  EXPECT_EQ(chat_prompt(file, greeting, {}), "<b><e>");
  EXPECT_EQ(chat_prompt(file, greeting, {.template_name = "rag"}), "R");
  folder.put("m.gguf", gguf_of({tokens, one, end(2)}));
  EXPECT_NE(user_error_of([&] { load_chat_template(file); }).find("eos_token_id is 2 of 2 tokens"), std::string::npos);
  folder.put("m.gguf", gguf_of({tokens}));
  EXPECT_NE(user_error_of([&] { load_chat_template(file); }).find("has no chat template"), std::string::npos);
}

TEST(ChatTemplate, GetsWhatIsAskedForAndRefusesWhatIsNoChat) {
  const ChatTemplate of{.name = "T",
                        .source = "{{ enable_thinking }}{{ add_generation_prompt }}{{ bos_token }}",
                        .special_tokens = {{"bos_token", "<s>"}}};
  EXPECT_EQ(render_chat(of, greeting, {.variables = {{"enable_thinking", false}}}), "FalseTrue<s>");
  EXPECT_EQ(render_chat(of, greeting, {.generation_prompt = GenerationPrompt::omit, .variables = {{"bos_token", "x"}}}),
            "Falsex");
  user_error_of([&] { render_chat(of, OrderedJson::array(), {}); });
  user_error_of([&] { render_chat(of, OrderedJson::array({"text"}), {}); });
  user_error_of([&] { render_chat(of, greeting, {.variables = {{"messages", 1}}}); });
}

}  // namespace
}  // namespace assay
