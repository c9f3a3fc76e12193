#include <sys/stat.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <map>

#include "cli_fixture.h"

namespace assay {
namespace {

using CliModel = Cli;

TEST_F(CliModel, HostileSafetensorsAreRefused) {
  const std::string sound = read_file(model_ / "model.safetensors");
  constexpr const char* entry = R"({{"t": {{"dtype": "{}", "shape": {}, "data_offsets": {}}}}})";
  const auto with_tensor = [&](const char* dtype, const char* shape, const char* offsets) {
    std::string header = fmt::format(fmt::runtime(entry), dtype, shape, offsets);
    header.resize((header.size() + 7) / 8 * 8, ' ');
    return safetensors_text(header.size(), header, "12345678");
  };
  const std::string overlapping =
      R"({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}, "b": {"dtype": "F32", "shape": [1], "data_offsets": [2, 6]}})";
  const std::map<std::string, std::string> files = {
      {"empty", ""},
      {"half a length", sound.substr(0, 5)},
      {"truncated in the header", sound.substr(0, 40)},
      {"truncated in the data", sound.substr(0, sound.size() - 100)},
      {"more data than tensors", sound + "12345678"},
      {"a header longer than the file", safetensors_text(1 << 20, "{}")},
      {"a header of 2^63 bytes", safetensors_text(std::uint64_t{1} << 63, "{}")},
      {"a header of 2^64 - 1 bytes", safetensors_text(~std::uint64_t{0}, "{}")},
      {"a header that is no JSON", safetensors_text(8, "not json")},
      {"100,000 brackets", safetensors_text(100'000, nested(100'000))},
      {"an unknown dtype", with_tensor("Q9", "[2]", "[0, 8]")},
      {"offsets past the end", with_tensor("F32", "[2]", "[0, 80]")},
      {"offsets that turn round", with_tensor("F32", "[2]", "[8, 0]")},
      {"offsets past 2^64", with_tensor("F32", "[2]", "[18446744073709551608, 18446744073709551616]")},
      {"a shape past 2^63", with_tensor("F32", "[4294967296, 4294967296, 2]", "[0, 8]")},
      {"a shape that wraps to 2", with_tensor("F32", "[9223372036854775809, 2]", "[0, 8]")},
      {"a negative extent", with_tensor("F32", "[-2]", "[0, 8]")},
      {"overlapping tensors", safetensors_text(overlapping.size(), overlapping, "123456")},
  };
  for (const auto& [what, content] : files) {
    SCOPED_TRACE(what);
    write_text(model_ / "model.safetensors", content);
    expect_bad_model("model", "model.safetensors");
  }
}

TEST_F(CliModel, ThingsThatAreNoFilesAreRefused) {
  for (const char* file : {"config.json", "model.safetensors"}) {
    SCOPED_TRACE(file);
    const std::string sound = read_file(model_ / file);
    fs::remove(model_ / file);
    expect_bad_model("model", "model");  // missing
    fs::create_directory(model_ / file);
    expect_bad_model("model", file);
    fs::remove(model_ / file);
    fs::create_symlink(file, model_ / file);  // a loop
    expect_bad_model("model", "model");
    fs::remove(model_ / file);
    ASSERT_EQ(::mkfifo((model_ / file).c_str(), 0600), 0);
    expect_bad_model("model", file);
    fs::remove(model_ / file);
    write_text(model_ / file, sound);
  }
  fs::create_symlink("loop", folder_.path() / "loop");
  expect_bad_model("./loop", "loop");
  expect_bad_model("./absent", "absent");
  expect_bad_model("absent", "absent");
  expect_bad_model("tokens.json", "tokens.json");
}

TEST_F(CliModel, HostileGgufIsRefused) {
  const auto number = [](auto value) { return std::string(reinterpret_cast<const char*>(&value), sizeof value); };
  const auto header = [&](std::uint32_t version, std::uint64_t tensors, std::uint64_t values) {
    return "GGUF" + number(version) + number(tensors) + number(values);
  };
  constexpr std::uint64_t huge = std::uint64_t{1} << 60;
  const std::string key = number(std::uint64_t{1}) + "k";
  std::string arrays = header(3, 0, 1) + key + number(std::uint32_t{9});
  for (int i = 0; i < 100'000; ++i) arrays += number(std::uint32_t{9}) + number(std::uint64_t{1});
  const std::string tensor = key + number(std::uint32_t{2}) + number(huge) + number(huge) + number(std::uint32_t{0});
  const std::map<std::string, std::string> files = {
      {"empty", ""},
      {"half a magic", "GG"},
      {"another magic", "GGML" + number(std::uint32_t{3}) + number(huge) + number(huge)},
      {"an unknown version", header(99, 0, 0)},
      {"2^60 tensors", header(3, huge, 0)},
      {"2^60 values", header(3, 0, huge)},
      {"a string of 2^60 bytes", header(3, 0, 1) + number(huge)},
      {"a value of unknown type", header(3, 0, 1) + key + number(std::uint32_t{77}) + number(huge)},
      {"an array of 2^60", header(3, 0, 1) + key + number(std::uint32_t{9}) + number(std::uint32_t{4}) + number(huge)},
      {"100,000 nested arrays", arrays},
      {"a shape of 2^120", header(3, 1, 0) + tensor + number(std::uint64_t{0})},
      {"no architecture", header(3, 0, 0)},
  };
  for (const auto& [what, content] : files) {
    SCOPED_TRACE(what);
    write_text(folder_.path() / "model.gguf", content);
    expect_bad_model("model.gguf", "model.gguf");
  }
  fs::remove(folder_.path() / "model.gguf");
  fs::create_directory(folder_.path() / "model.gguf");
  expect_bad_model("model.gguf", "model.gguf");
}

TEST_F(CliModel, AbsurdConfigsAreRefused) {
  const std::map<std::string, Json> changes = {
      {"heads that do not divide the width", {{"num_heads", 5}}},
      {"heads of odd size", {{"num_heads", 32}}},
      {"a negative width", {{"d_model", -32}}},
      {"no layers", {{"num_layers", 0}}},
      {"a huge width", {{"d_model", std::int64_t{1} << 31}}},
      {"a width past 64 bits", {{"d_model", 1e300}}},
      {"a huge vocabulary", {{"vocab_size", std::int64_t{1} << 31}}},
      {"a million layers", {{"num_layers", 1'000'000}}},
      {"a width in words", {{"d_model", "wide"}}},
      {"half a layer", {{"num_layers", 1.5}}},
      {"an unknown model_type", {{"model_type", "mystery\nmodel"}}},
      {"a model_type that is a list", {{"model_type", Json::array({1})}}},
      {"no model_type", {{"model_type", nullptr}}},
      {"no width", {{"d_model", nullptr}}},
      {"a negative theta", {{"rope_theta", -1}}},
  };
  for (const auto& [what, change] : changes) {
    SCOPED_TRACE(what);
    Json config = tiny_config();
    config.update(change);
    write_text(model_ / "config.json", config.dump());
    expect_bad_model("model", what == "a huge vocabulary" ? "model.safetensors" : "config.json");
  }
  const std::map<std::string, std::string> texts = {{"empty", ""},
                                                    {"no JSON", "{"},
                                                    {"a list", "[]"},
                                                    {"trailing data", tiny_config().dump() + "{}"},
                                                    {"100,000 brackets", nested(100'000)},
                                                    {"a key twice", R"({"model_type": "cs336", "model_type": "gpt2"})"},
                                                    {"a zero byte", tiny_config().dump() + std::string(1, '\0')},
                                                    {"no UTF-8", "{\"model_type\": \"\xff\xfe\"}"}};
  for (const auto& [what, text] : texts) {
    SCOPED_TRACE(what);
    write_text(model_ / "config.json", text);
    expect_bad_model("model", "config.json");
  }
}

TEST_F(CliModel, TensorsMustBeThoseOfTheModel) {
  constexpr const char* name = "layers.1.ffn.w2.weight";
  TinyTensors tensors = tiny_tensors();
  tensors.remove(name);
  write_tensors(model_ / "model.safetensors", tensors);
  expect_bad_model("model", name);

  tensors.add(name, {64, 32});  // the other way round
  write_tensors(model_ / "model.safetensors", tensors);
  expect_bad_model("model", name);

  tensors = tiny_tensors();
  tensors.add("mystery.weight", {3});
  write_tensors(model_ / "model.safetensors", tensors);
  expect_bad_model("model", "mystery.weight");
  EXPECT_EQ(dump({"--allow-unused"}).exit_code, 0);
}

TEST_F(CliModel, WeightsMustBeFinite) {
  for (const float value : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    TinyTensors tensors = tiny_tensors();
    tensors.values("layers.0.attn.q_proj.weight")[7] = value;
    write_tensors(model_ / "model.safetensors", tensors);
    const std::string part = "layers.0.attn.q_proj.weight";
    expect_failure({"dump", "model", "--tokens", "tokens.json", "--out", "out.safetensors"}, 2, part);
    expect_failure({"bench", "model", "--rounds", "1", "--seconds", "0.05", "--seq", "8", "--quality", "none"}, 2,
                   part);
    const Outcome outcome = dump({"--allow-nonfinite"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    fs::remove(folder_.path() / "out.safetensors");
  }
}

/// Sound weights whose products pass f32's range in the last layer.
TinyTensors overflowing_tensors() {
  TinyTensors tensors = tiny_tensors();
  for (const char* name : {"layers.1.ffn.w1.weight", "layers.1.ffn.w3.weight"}) {
    for (int i = 0; i < 64 * 32; ++i) tensors.values(name)[i] *= 1e25F;
  }
  return tensors;
}

TEST_F(CliModel, DumpWritesNoNanUnlessItIsAllowed) {
  write_tensors(model_ / "model.safetensors", overflowing_tensors());
  for (const std::string what : {"logits", "loss", "hidden", "grads"}) {
    const Arguments arguments = {"dump",   "model", "--tokens", "tokens.json",
                                 "--what", what,    "--out",    "out.safetensors"};
    expect_failure(arguments, 2, what == "grads" ? "grad." : what == "hidden" ? "hidden.2 holds" : what + " holds");
    expect_failure(arguments, 2, "layers.1.mlp.");
  }
  const Outcome outcome = dump({"--what", "logits,loss,grads", "--allow-nonfinite"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_TRUE(fs::exists(folder_.path() / "out.safetensors"));
}

TEST_F(CliModel, ARowWhoseOutputIsNoNumberIsNotFiniteEverywhere) {
  write_tensors(model_ / "model.safetensors", overflowing_tensors());
  const Outcome outcome = bench({"--emulated", "--precision", "bf16", "--json", "run.json", "--csv", "run.csv"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_TRUE(outcome.says("not finite: on the ids that were timed")) << outcome.out;
  for (const Json& record : records_of("run.json")) {
    EXPECT_EQ(record.at("status"), "not finite");
    EXPECT_NE(record.at("reason").get<std::string>().find("layers.1.mlp."), std::string::npos);
    EXPECT_TRUE(record.at("logits_hash").is_null() && record.at("speedup").is_null());
    EXPECT_EQ(record.at("trust"), "D");
  }
  const Outcome report = run({"report", "run.json", "--html", "run.html", "--markdown", "run.md"});
  ASSERT_EQ(report.exit_code, 0) << report.err;
  EXPECT_NE(read_file(folder_.path() / "run.html").find("not finite"), std::string::npos);
  EXPECT_EQ(read_file(folder_.path() / "run.csv").find(",nan"), std::string::npos);
}

TEST_F(CliModel, ANumberBeyondF64NamesItsKey) {
  std::string config = tiny_config().dump();
  const std::string theta = "\"rope_theta\":10000.0";
  config.replace(config.find(theta), theta.size(), "\"rope_theta\":1e400");
  write_text(model_ / "config.json", config);
  expect_bad_model("model", "rope_theta");
}

TEST_F(CliModel, NumbersOfGgufNameTheirOwnKeys) {
  const std::string sound = read_file(fs::path(ASSAY_SOURCE_DIR) / "tests/fixtures/models/llama-tied.gguf");
  for (const std::string key : {"llama.rope.freq_base", "llama.attention.layer_norm_rms_epsilon"}) {
    for (const float value : {1e-39F, -1.0F, 1e30F, std::numeric_limits<float>::quiet_NaN()}) {
      std::string bytes = sound;
      std::memcpy(&bytes[bytes.find(key) + key.size() + 4], &value, sizeof value);  // behind the type
      write_text(folder_.path() / "m.gguf", bytes);
      expect_failure({"explain", "m.gguf", "--seq", "4"}, 2, key);
    }
  }
}

TEST_F(CliModel, AHeadOfOneOutputGivesScoresAndNoClasses) {
  const fs::path source = fs::path(ASSAY_SOURCE_DIR) / "tests/fixtures/models/bert-classifier";
  Json config = parse_json(read_file(source / "config.json"), "config.json");
  config["problem_type"] = "regression";
  fs::create_directory(folder_.path() / "scores");
  fs::copy_file(source / "model.safetensors", folder_.path() / "scores" / "model.safetensors");
  write_text(folder_.path() / "scores" / "config.json", config.dump());
  fs::create_directory(folder_.path() / "data");
  write_text(folder_.path() / "data" / "input_ids.npy", npy_text(6, 8, [](std::int64_t i) { return i * i % 60; }));
  for (const std::string what : {"loss", "grads"}) {
    expect_failure({"dump", "scores", "--tokens", "tokens.json", "--what", what, "--out", "o.safetensors"}, 2,
                   "gives scores and no classes");
  }
  expect_failure({"train", "scores", "--benchmark", "--steps", "1", "--seq", "8"}, 2, "gives scores and no classes");
  const Outcome outcome = run({"bench", "scores", "--data", "data", "--precision", "bf16", "--emulated", "--rounds",
                               "1", "--seconds", "0.05", "--seq", "8", "--json", "run.json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("Spearman"), std::string::npos) << outcome.out;
  for (const Json& record : records_of("run.json")) {
    for (const char* none : {"kl_mean", "top1_agreement", "accuracy", "accuracy_change", "log_perplexity", "mcnemar_p"})
      EXPECT_TRUE(record.at(none).is_null()) << none;
    EXPECT_EQ(record.at("scored"), 6);
    EXPECT_GT(record.at("score_pearson").get<double>(), 0.5);
    EXPECT_EQ(record.at("score_difference") == 0, record.at("precision") == "fp32");
  }
}

}  // namespace
}  // namespace assay
