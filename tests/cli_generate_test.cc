#include <cstdlib>

#include "cli_fixture.h"

namespace assay {
namespace {

/// Beside `model`, which has no tokenizer: `speaker`, which has one and a chat template.
class CliGenerate : public Cli {
 protected:
  void SetUp() override {
    Cli::SetUp();
    write_speaker("speaker", 64);
    write_text(folder_.path() / "prompt.txt", "a b");
  }

  void write_speaker(const char* name, int context) const {
    Json config = tiny_config();
    config["vocab_size"] = 70;
    config["context_length"] = context;
    write_tiny_model(folder_.path() / name, config);
    Json tokenizer = parse_json(read_file(ASSAY_SOURCE_DIR "/tests/fixtures/quality/tokenizer.json"), "tokenizer.json");
    tokenizer["post_processor"] = nullptr;  // An empty text gives no ids.
    write_text(folder_.path() / name / "tokenizer.json", tokenizer.dump());
    write_text(folder_.path() / name / "chat_template.jinja",
               "{% for m in messages %}{{ m.role }} {{ m.content }} {% endfor %}");
  }

  Arguments generate(const Arguments& more) const {
    Arguments all = {"generate", "speaker"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  Json generated(Arguments more) const {
    more.insert(more.end(), {"--json", "-"});
    const Outcome outcome = run(generate(more));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return parse_json(outcome.out, "standard output");
  }

  /// Exit code of a line of the shell in the folder, in which "$ASSAY" is the program.
  int shell(const std::string& line) const {
    ::setenv("ASSAY", ASSAY_PROGRAM, 1);
    ::setenv("FOLDER", folder_.path().c_str(), 1);
    const int status = std::system(("cd \"$FOLDER\" && " + line).c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  Json json_file(const char* name) const { return parse_json(read_file(folder_.path() / name), name); }
};

TEST_F(CliGenerate, WhatCannotBeGoneOnFromIsRefused) {
  write_text(folder_.path() / "empty.txt", "");
  write_text(folder_.path() / "bytes.txt", "a\xff");
  write_text(folder_.path() / "padding.json", R"({"input_ids": [[1, 2], [3, 4]], "attention_mask": [[1, 1], [0, 0]]})");
  write_text(folder_.path() / "hole.json", R"({"input_ids": [[1, 2, 3, 4]], "attention_mask": [[0, 1, 0, 1]]})");
  write_text(folder_.path() / "outside.json", R"({"input_ids": [[1, 70]]})");
  const std::pair<Arguments, const char*> refused[] = {
      {{}, "one of --prompt, --prompt-file and --tokens is needed, 0 were given"},
      {{"--prompt", "a", "--tokens", "tokens.json"}, "2 were given"},
      {{"--prompt", ""}, "--prompt: its value is empty"},
      {{"--prompt-file", "empty.txt"}, "empty.txt: gives no token"},
      {{"--prompt-file", "bytes.txt"}, "bytes.txt"},
      {{"--prompt-file", "speaker"}, "speaker: is a folder"},
      {{"--prompt-file", "/dev/zero"}, "/dev/zero: is not a regular file"},
      {{"--tokens", "padding.json"}, "padding.json: row 1 has no real id"},
      {{"--tokens", "hole.json"}, "hole.json: attention_mask: row 0 is real again at position 3"},
      {{"--tokens", "outside.json"}, "outside.json: input_ids: id 70 at row 0, position 1"},
      {{"--tokens", "tokens.json", "--chat"}, "--chat: takes text"},
      {{"--prompt", "a", "--system", "b"}, "--system"},
      {{"--prompt", "a", "--new", "4", "--with", "kv=f64"}, "kv"},
      {{"--tokens", "tokens.json", "--new", "57"},
       "8 tokens of the prompt and 57 new ones are more than the model's context of 64"},
      {{"--tokens", "tokens.json", "--new", "1073741824"}, "context of 64"},
  };
  for (const auto& [arguments, part] : refused) expect_failure(generate(arguments), 2, part);
  expect_failure({"generate", "model", "--prompt", "a"}, 2, "model");
  EXPECT_EQ(generated({"--tokens", "tokens.json", "--new", "56"}).at("sequences").at(0).size(), 56U)
      << "the whole context";
}

TEST_F(CliGenerate, SamplingHasBoundsAndWorksAtThem) {
  const std::pair<const char*, std::vector<const char*>> outside[] = {
      {"--temperature", {"-0.1", "101", "nan", "inf", "x"}},
      {"--top-k", {"-1", "2147483649", "1.5"}},
      {"--top-p", {"0", "1.01", "nan"}},
      {"--min-p", {"-0.1", "1.01", "nan"}},
      {"--seed", {"-1", "1.5", "x", "18446744073709551616"}},
      {"--new", {"0", "-1", "1073741825", "1e3"}},
  };
  for (const auto& [option, values] : outside) {
    for (const char* value : values) expect_failure(generate({"--prompt", "a", option, value}), 2, option);
  }
  const Json greedy = generated({"--prompt", "a b", "--new", "9"}).at("sequences");
  // Each leaves one token to draw from.
  for (const Arguments& narrow :
       {Arguments{"--temperature", "5e-324"}, Arguments{"--temperature", "100", "--top-k", "1"},
        Arguments{"--temperature", "100", "--top-p", "1e-9"}, Arguments{"--temperature", "100", "--min-p", "1"}}) {
    Arguments arguments = {"--prompt", "a b", "--new", "9"};
    arguments.insert(arguments.end(), narrow.begin(), narrow.end());
    EXPECT_EQ(generated(arguments).at("sequences"), greedy) << narrow.back();
  }
}

TEST_F(CliGenerate, PiecesThatDoNotAddUpAreRefused) {
  for (const char* pieces : {"0,8", "8,0", "-1,9", "7", "9", "1,1", "1.5,6.5", "a", "9223372036854775807,1",
                             "9223372036854775807,9223372036854775807,10",
                             "4611686018427387904,4611686018427387904,4611686018427387904,"
                             "4611686018427387904,8"})
    expect_failure({"dump", "model", "--tokens", "tokens.json", "--out", "out.safetensors", "--chunks", pieces}, 2,
                   "--chunks");
  write_text(folder_.path() / "hole.json", R"({"input_ids": [[1, 2, 3]], "attention_mask": [[1, 0, 1]]})");
  expect_failure({"dump", "model", "--tokens", "hole.json", "--out", "out.safetensors", "--chunks", "1,2"}, 2,
                 "hole.json: attention_mask: row 0 is real again at position 2");
}

TEST_F(CliGenerate, AFileIsWrittenWhateverBecomesOfStandardOutput) {
  const std::string line = "\"$ASSAY\" generate speaker --prompt 'a b' --new 20 ";
  EXPECT_EQ(shell(line + "--json whole.json >out 2>err"), 0);
  EXPECT_EQ(shell(line + "--json out.json >/dev/full 2>err"), 3);
  EXPECT_TRUE(read_file(folder_.path() / "err").starts_with("assay: standard output: No space left on device\n") ||
              read_file(folder_.path() / "err").find("\nassay: standard output: No space left on device\n") !=
                  std::string::npos)
      << read_file(folder_.path() / "err");
  EXPECT_EQ(json_file("out.json").at("sequences"), json_file("whole.json").at("sequences"));
  EXPECT_EQ(shell(line + ">/dev/full 2>err"), 3);
  EXPECT_EQ(read_file(folder_.path() / "err"), "assay: standard output: No space left on device\n");
  EXPECT_EQ(shell(line + "--json /dev/full >out 2>err"), 3);
  EXPECT_NE(read_file(folder_.path() / "out"), "") << "the text comes first";
}

TEST_F(CliGenerate, WhatIsReadIsNotReplaced) {
  write_text(folder_.path() / "mix.toml", "[precision]\nrest = \"fp32\"\n");
  write_text(folder_.path() / "speaker/generation_config.json", R"({"eos_token_id": 3})");
  const Arguments read[] = {{"--prompt-file", "prompt.txt", "--json", "prompt.txt"},
                            {"--tokens", "tokens.json", "--json", "tokens.json"},
                            {"--prompt", "a", "--recipe", "mix.toml", "--json", "mix.toml"},
                            {"--prompt", "a", "--json", "speaker/generation_config.json"},
                            {"--prompt", "a", "--json", "speaker/chat_template.jinja"}};
  for (const Arguments& arguments : read) expect_failure(generate(arguments), 2, "would replace what");
}

TEST_F(CliGenerate, ThinkingIsRefusedWhereTheTemplateDoesNotAsk) {
  expect_failure(generate({"--prompt", "a", "--chat", "--thinking", "off"}), 2,
                 "the chat template in speaker/chat_template.jinja asks for no enable_thinking");
  write_text(folder_.path() / "speaker/chat_template.jinja",
             "{{ messages[0].content }}{% if enable_thinking %} a b c{% endif %}");
  const auto tokens = [&](const char* thinking) {
    return generated({"--prompt", "a", "--chat", "--thinking", thinking, "--new", "1"}).at("prompt_tokens").at(0);
  };
  EXPECT_GT(tokens("on").get<int>(), tokens("off").get<int>());
}

TEST_F(CliGenerate, ATemplateThatIsNotKnownOrRefusesIsNamed) {
  const std::pair<const char*, const char*> templates[] = {
      {"a\n{{ 'x' | wordwrap }}", "chat_template.jinja: line 2 of the chat template: the filter 'wordwrap'"},
      {"{{ raise_exception('no system here') }}",
       "chat_template.jinja: the chat template refuses this: no system here"},
      {"{% for m in messages %}", "chat_template.jinja: line 1 of the chat template: 'endfor' is expected"},
      {"{% for i in range(99999) %}{% for k in range(99999) %}{% endfor %}{% endfor %}", "takes too many steps"},
      {"", "gives no token to go on from"},
  };
  for (const auto& [text, part] : templates) {
    write_text(folder_.path() / "speaker/chat_template.jinja", text);
    expect_failure(generate({"--prompt", "a", "--chat", "--system", "b"}), 2, part);
  }
  fs::remove(folder_.path() / "speaker/chat_template.jinja");
  expect_failure(generate({"--prompt", "a", "--chat"}), 2, "speaker: has no chat template");
}

TEST_F(CliGenerate, AnInterruptedRunSaysSo) {
  write_speaker("long", 200'000);
  // A shell's background job ignores SIGINT. Ids that are drawn are not all special ones, which have no text.
  EXPECT_EQ(
      shell(":; \"$ASSAY\" generate long --prompt 'a b' --new 199000 --temperature 100 --json out.json >out 2>err & "
            "pid=$!; while [ ! -s out ] && kill -0 $pid; do :; done; kill -TERM $pid; wait $pid"),
      130);
  const Json json = json_file("out.json");
  EXPECT_EQ(json.at("interrupted"), true);
  EXPECT_LT(json.at("sequences").at(0).size(), 199000U);
  EXPECT_EQ(json.at("sequences").at(0).size(), json.at("token_ms").size() + 1);
  EXPECT_EQ(generated({"--prompt", "a", "--new", "2"}).at("interrupted"), false);
}

}  // namespace
}  // namespace assay
