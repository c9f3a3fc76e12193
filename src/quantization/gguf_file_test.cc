#include "quantization/gguf_file.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/testing.h"
#include "formats/gguf.h"
#include "quantization/testing.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

struct WrittenGguf {
  TemporaryFolder place;
  fs::path file = place.path() / "model.gguf";
  WrittenModel written;

  explicit WrittenGguf(ModelInPrecision& model) {
    check_gguf(model.source());
    written = write_model_gguf(model.source(), file);
  }
  Model opened() const { return open_model(file.string(), {}); }
};

/// A row, and the one that runs its file with the same arithmetic.
struct GgufRow {
  const char* row;
  const char* reader;
};

class WrittenGgufRows : public testing::TestWithParam<GgufRow> {};

TEST_P(WrittenGgufRows, GiveTheVeryLogits) {
  const Model model = small_llama();
  ModelInPrecision made(model, GetParam().row);
  const WrittenGguf written(made);
  const Model opened = written.opened();
  ModelInPrecision read(opened, GetParam().reader);
  EXPECT_TRUE(have_the_same_bits(small_logits(made.instance), small_logits(read.instance)));
}

INSTANTIATE_TEST_SUITE_P(Rows, WrittenGgufRows,
                         testing::Values(GgufRow{"fp32", "fp32"}, GgufRow{"bf16", "stored"}, GgufRow{"fp16", "fp16"},
                                         GgufRow{"int4-weights", "stored"}, GgufRow{"int4-weights-g128", "stored"},
                                         GgufRow{"int4-weights-min", "stored"}, GgufRow{"int8-group", "stored-int8"},
                                         GgufRow{"int4", "stored-int8"}),
                         [](const auto& tested) {
                           std::string name = tested.param.row;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

/// Of rows of whole super-blocks.
TEST(WrittenGgufs, OfKTypesGiveTheVeryLogits) {
  const Model model = small_model({{"model_type", "llama"}, {"hidden_size", 256}, {"intermediate_size", 512}});
  for (const char* row : {"int4-weights-k", "int5-weights-k", "int6-weights-k"}) {
    ModelInPrecision made(model, row);
    const WrittenGguf written(made);
    const Model opened = written.opened();
    ModelInPrecision read(opened, "stored");
    EXPECT_TRUE(have_the_same_bits(small_logits(made.instance), small_logits(read.instance))) << row;
  }
}

/// Families of which GGUF differs from folders in another way each: rows in pairs, norms and one, names, joined rows.
TEST(WrittenGgufs, OfEveryFamilyReadBack) {
  const Json families[] = {
      {{"model_type", "llama"}, {"tie_word_embeddings", true}},
      {{"model_type", "qwen2"}},
      {{"model_type", "qwen3"}, {"head_dim", 32}},
      {{"model_type", "smollm3"}},
      {{"model_type", "granite"},
       {"embedding_multiplier", 2.0},
       {"logits_scaling", 4.0},
       {"attention_multiplier", 0.25}},
      {{"model_type", "olmo2"}},
      {{"model_type", "gpt_neox"}, {"hidden_act", "gelu"}, {"num_key_value_heads", 4}},
      {{"model_type", "gemma"}, {"head_dim", 32}, {"hidden_act", "gelu_pytorch_tanh"}},
      {{"model_type", "gemma2"}, {"head_dim", 32}, {"query_pre_attn_scalar", 32}},
      {{"model_type", "stablelm"}},
      {{"model_type", "phi3"}},
  };
  for (const Json& family : families) {
    const Model model = small_model(family);
    for (const char* row : {"fp32", "int8-group"}) {
      ModelInPrecision made(model, row);
      const WrittenGguf written(made);
      const Model opened = written.opened();
      ModelInPrecision read(opened, std::string(row) == "fp32" ? "fp32" : "stored-int8");
      EXPECT_TRUE(have_the_same_bits(small_logits(made.instance), small_logits(read.instance)))
          << family.dump() << " " << row;
    }
  }
}

TEST(WrittenGgufs, HoldATableInTwoForms) {
  const Model model = small_model({{"model_type", "llama"}, {"tie_word_embeddings", true}});
  ModelInPrecision made(model, "int4-weights", "@head=int8-group");
  const WrittenGguf written(made);
  const Gguf file = open_gguf(written.file);
  EXPECT_EQ(file.find_tensor("token_embd.weight")->type, GgmlType::q4_0);
  EXPECT_EQ(file.find_tensor("output.weight")->type, GgmlType::q8_0);
  EXPECT_EQ(file.text("assay.precision"), "int4-weights[@head=int8-group]");
}

TEST(WrittenGgufs, SayStretchedPositionsAsDivisors) {
  const Model model = small_model({{"model_type", "llama"},
                                   {"rope_scaling",
                                    {{"rope_type", "llama3"},
                                     {"factor", 8.0},
                                     {"low_freq_factor", 1.0},
                                     {"high_freq_factor", 4.0},
                                     {"original_max_position_embeddings", 32}}}});
  ModelInPrecision made(model, "fp32");
  const WrittenGguf written(made);
  const Model opened = written.opened();
  ModelInPrecision read(opened, "fp32");
  const Tensor a = small_logits(made.instance);
  const Tensor b = small_logits(read.instance);
  float largest = 0;
  float difference = 0;
  for (std::int64_t i = 0; i < a.count(); ++i) {
    largest = std::max(largest, std::abs(a.as<float>()[i]));
    difference = std::max(difference, std::abs(a.as<float>()[i] - b.as<float>()[i]));
  }
  EXPECT_LE(difference, 1e-5F * largest) << "frequencies are divided in f32";
}

std::string gguf_refusal(const Model& model, const char* precision) {
  return user_error_of([&] {
    ModelInPrecision made(model, precision);
    const WrittenGguf written(made);
  });
}

TEST(WrittenGgufs, RefuseWhatNoTypeIsByName) {
  EXPECT_EQ(gguf_refusal(small_llama(), "int8").find("embeddings (int8): no type of GGUF has such weights; those of"),
            0U);
  EXPECT_EQ(gguf_refusal(small_model({{"model_type", "mistral"}}), "fp32"),
            "small: models of family mistral are not written as GGUF");
  EXPECT_EQ(gguf_refusal(small_model({{"model_type", "llama"}, {"intermediate_size", 144}}), "int8-group"),
            "layers.0.mlp.down_proj (int8-group): rows of 144 values make no whole blocks of 32");
  EXPECT_EQ(
      gguf_refusal(
          small_model({{"model_type", "llama"}, {"rope_scaling", {{"rope_type", "dynamic"}, {"factor", 2.0}}}}), "fp32")
          .find("small: 'rope_parameters' is "),
      0U);
}

/// No entry of a file says them: readers have biases where the family has them.
TEST(WrittenGgufs, RefuseBiasesThatTheFamilyHasNotBeforeAnythingIsWritten) {
  const Json gelu = {{"head_dim", 32}, {"hidden_act", "gelu_pytorch_tanh"}};
  const auto refusal = [](Json config, const char* bias, bool is_there) {
    config[bias] = is_there;
    const Model model = small_model(config);
    ModelInPrecision made(model, "fp32");
    return user_error_of([&] { check_gguf(made.source()); });
  };
  const auto expected = [](const char* bias, const char* is, const char* said) {
    return fmt::format("small: '{}' is {}, and such a file says {}: GGUF cannot hold it", bias, is, said);
  };
  for (const char* family : {"gemma", "gemma2", "gemma3_text"}) {
    Json config = gelu;
    config["model_type"] = family;
    if (std::string(family) != "gemma") config["query_pre_attn_scalar"] = 32;
    EXPECT_EQ(refusal(config, "attention_bias", true), expected("attention_bias", "true", "false")) << family;
  }
  EXPECT_EQ(refusal({{"model_type", "llama"}}, "attention_bias", true), expected("attention_bias", "true", "false"));
  EXPECT_EQ(refusal({{"model_type", "llama"}}, "mlp_bias", true), expected("mlp_bias", "true", "false"));
  EXPECT_EQ(refusal({{"model_type", "qwen3"}, {"head_dim", 32}}, "attention_bias", true),
            expected("attention_bias", "true", "false"));
  EXPECT_EQ(refusal({{"model_type", "gpt_neox"}, {"hidden_act", "gelu"}, {"num_key_value_heads", 4}}, "attention_bias",
                    false),
            expected("attention_bias", "false", "true"));
}

/// Of a model as small as this one, metadata is a good part of the file.
TEST(WrittenGgufs, CountBytesOfTensorsAlone) {
  const Model model = small_llama();
  ModelInPrecision made(model, "bf16");
  const WrittenGguf written(made);
  std::int64_t bytes = 0;
  for (const GgufTensor& tensor : open_gguf(written.file).tensors) bytes += std::ssize(tensor.bytes);
  EXPECT_EQ(written.written.bytes, bytes);
  EXPECT_LT(bytes, static_cast<std::int64_t>(fs::file_size(written.file)));
}

TEST(WrittenGgufs, AreOpenedWhateverTheLettersOfTheirEnding) {
  const TemporaryFolder place;
  const Model model = small_llama();
  ModelInPrecision made(model, "bf16");
  write_model_gguf(made.source(), place.path() / "m.GGUF");
  const Model opened = open_model((place.path() / "m.GGUF").string(), {});
  EXPECT_EQ(opened.config.d_model, model.config.d_model);
}

}  // namespace
}  // namespace assay
