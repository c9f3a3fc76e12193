#include "quantization/folder.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/testing.h"
#include "formats/safetensors.h"
#include "quantization/testing.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr const char* plain_tables = "@embedding=bf16,@head=bf16";

/// Written in a precision and opened again.
struct WrittenFolder {
  TemporaryFolder place;
  fs::path folder = place.path() / "written";
  WrittenModel written;

  WrittenFolder(ModelInPrecision& model, std::int64_t shard_bytes = usual_shard_bytes) {
    check_folder(model.source());
    fs::create_directory(folder);
    written = write_model_folder(model.source(), folder, shard_bytes);
  }
  Model opened() const { return open_model(folder.string(), {}); }
  Json config() const { return parse_json(read_file(folder / "config.json"), "config.json"); }
};

/// A row, and the one that runs its file with the same arithmetic.
struct RowAndReader {
  const char* row;
  const char* overrides;
  const char* reader;
};

class WrittenRows : public testing::TestWithParam<RowAndReader> {};

TEST_P(WrittenRows, GiveTheVeryLogits) {
  const Model model = small_llama();
  ModelInPrecision made(model, GetParam().row, GetParam().overrides);
  const WrittenFolder written(made);
  const Model opened = written.opened();
  ModelInPrecision read(opened, GetParam().reader);
  EXPECT_TRUE(have_the_same_bits(small_logits(made.instance), small_logits(read.instance)));
}

INSTANTIATE_TEST_SUITE_P(Rows, WrittenRows,
                         testing::Values(RowAndReader{"fp32", "", "fp32"}, RowAndReader{"bf16", "", "stored"},
                                         RowAndReader{"int4-weights", plain_tables, "stored"},
                                         RowAndReader{"int4-weights-g128", plain_tables, "stored"},
                                         RowAndReader{"int4-weights-zp", plain_tables, "stored"},
                                         RowAndReader{"int8-group", plain_tables, "stored-int8"},
                                         RowAndReader{"int4", plain_tables, "stored-int8"}),
                         [](const auto& tested) {
                           std::string name = tested.param.row;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

/// The values that a row's codes and scales stand for.
Tensor values_of_rows(ModelInPrecision& made, const std::string& weight) {
  for (const KeptWeight& kept : kept_weights(made.instance.program())) {
    if (kept.name != weight) continue;
    Tensor values = converted(kept_values(made.source(), kept), DType::f32);
    const auto* scales = kept_scales(made.source(), kept).as<float>();
    const std::int64_t in = values.shape()[1];
    for (std::int64_t i = 0; i < values.count(); ++i) values.as<float>()[i] *= scales[i / in];
    return values;
  }
  return {};
}

TEST(WrittenFolders, HoldCodesOfWholeRowsWithTheirScales) {
  const Model model = small_llama();
  for (const char* row : {"int8", "int8-weights", "fp8"}) {
    ModelInPrecision made(model, row, plain_tables);
    const WrittenFolder written(made);
    const Model opened = written.opened();
    for (const char* weight : {"layers.0.self_attn.q_proj.weight", "layers.1.mlp.down_proj.weight"}) {
      const WeightData read = opened.weights.at(weight).load();
      const Tensor values = values_of_rows(made, weight);
      ASSERT_EQ(read.view.shape, values.shape()) << row;
      EXPECT_EQ(std::memcmp(read.view.data, values.data(), values.bytes()), 0) << row << " " << weight;
    }
    EXPECT_EQ(written.written.quantised, 14) << row;
  }
}

TEST(WrittenFolders, SayTheMethodAsThePackageDoes) {
  const Model model = small_llama();
  ModelInPrecision made(model, "int8", plain_tables);
  const WrittenFolder written(made);
  const Json config = written.config();
  const Json& q = config.at("quantization_config");
  EXPECT_EQ(q.at("quant_method"), "compressed-tensors");
  EXPECT_EQ(q.at("format"), "int-quantized");
  EXPECT_EQ(q.at("ignore"), Json::array({"lm_head"}));
  const Json& group = q.at("config_groups").at("group_0");
  EXPECT_EQ(group.at("targets"), Json::array({"Linear"}));
  EXPECT_EQ(group.at("weights").at("strategy"), "channel");
  EXPECT_EQ(group.at("input_activations").at("strategy"), "token");
  EXPECT_EQ(group.at("input_activations").at("dynamic"), true);
  EXPECT_EQ(config.at("dtype"), "bfloat16") << "what int8 computes in between";
  const Safetensors file = open_safetensors(written.folder / "model.safetensors");
  EXPECT_EQ(file.metadata.at("assay.precision"), "int8[@embedding=bf16,@head=bf16]");
  EXPECT_EQ(file.find("model.layers.0.mlp.up_proj.weight")->stored, "I8");
  EXPECT_EQ(file.find("model.layers.0.mlp.up_proj.weight_scale")->shape, (Shape{256, 1}));
}

TEST(WrittenFolders, HoldSeveralSchemesByModule) {
  const Model model = small_llama();
  ModelInPrecision made(model, "bf16", "layers.0.*=int4-weights,layers.1.mlp.*=int8-weights,@norm=bf16");
  const WrittenFolder written(made);
  const Json config = written.config();
  EXPECT_EQ(config.at("quantization_config").at("format"), "pack-quantized") << "of both";
  EXPECT_EQ(config.at("quantization_config").at("config_groups").size(), 2U);
  const Model opened = written.opened();
  EXPECT_EQ(opened.weights.at("layers.0.mlp.up_proj.weight").blocks, &blocks::q4_0);
  EXPECT_EQ(opened.weights.at("layers.1.mlp.up_proj.weight").blocks, &blocks::int8_g128_f32);
  EXPECT_EQ(opened.weights.at("layers.1.self_attn.q_proj.weight").stored, "BF16");
}

TEST(WrittenFolders, OfSeveralFilesHaveAnIndex) {
  const Model model = small_llama();
  ModelInPrecision made(model, "fp32");
  const WrittenFolder written(made, 200'000);
  EXPECT_FALSE(fs::exists(written.folder / "model.safetensors"));
  EXPECT_TRUE(fs::exists(written.folder / "model.safetensors.index.json"));
  const Json index = parse_json(read_file(written.folder / "model.safetensors.index.json"), "index");
  EXPECT_EQ(index.at("metadata").at("total_size"), written.written.bytes);
  EXPECT_TRUE(fs::exists(written.folder / index.at("weight_map").at("lm_head.weight").get<std::string>()));
  const Model opened = written.opened();
  ModelInPrecision read(opened, "fp32");
  EXPECT_TRUE(have_the_same_bits(small_logits(made.instance), small_logits(read.instance)));
}

TEST(WrittenFolders, KeepATableThatHeadAndEmbeddingShareOnce) {
  const Model model = small_model({{"model_type", "llama"}, {"tie_word_embeddings", true}});
  ModelInPrecision made(model, "int4-weights", plain_tables);
  const WrittenFolder written(made);
  EXPECT_EQ(written.config().at("quantization_config").at("ignore"), Json::array({"lm_head"}));
  const Model opened = written.opened();
  ModelInPrecision read(opened, "stored");
  EXPECT_TRUE(have_the_same_bits(small_logits(made.instance), small_logits(read.instance)));
}

TEST(WrittenFolders, OfFamiliesWithRowsByKeyHeadReadBack) {
  const Model model = small_model({{"model_type", "gpt_neox"}, {"hidden_act", "gelu"}, {"num_key_value_heads", 4}});
  for (const char* row : {"bf16", "int4-weights"}) {
    ModelInPrecision made(model, row, plain_tables);
    const WrittenFolder written(made);
    const Model opened = written.opened();
    ModelInPrecision read(opened, "stored");
    EXPECT_TRUE(have_the_same_bits(small_logits(made.instance), small_logits(read.instance))) << row;
  }
}

std::string folder_refusal(const Model& model, const char* precision, const char* overrides = "") {
  return user_error_of([&] {
    ModelInPrecision made(model, precision, overrides);
    check_folder(made.source());
  });
}

TEST(WrittenFolders, RefuseWhatTheFormatCannotSayByName) {
  const Model model = small_llama();
  EXPECT_EQ(folder_refusal(model, "int8"),
            "embeddings (int8): embeddings reads 'model.embed_tokens.weight', and compressed-tensors have codes of "
            "linear layers alone; --with @embedding=bf16 keeps the table");
  EXPECT_EQ(
      folder_refusal(model, "mixed-bf16"),
      "mixed-bf16: keeps f32 weights and casts them as it runs, which no file says; fp32 writes the same weights");
  EXPECT_EQ(folder_refusal(model, "fp16-acc16"),
            "fp16-acc16: adds in 16 bits, which no file says; fp16 writes the same weights");
  EXPECT_EQ(folder_refusal(model, "stored"), "stored: is what a file holds already; name what it is to hold");
  EXPECT_EQ(
      folder_refusal(small_model({{"model_type", "llama"}, {"intermediate_size", 144}}), "int4-weights", plain_tables),
      "layers.0.mlp.down_proj (int4-weights): rows of 144 values make no whole groups of 32");
}

TEST(WrittenFolders, RefuseATableInTwoForms) {
  const Model model = small_model({{"model_type", "llama"}, {"tie_word_embeddings", true}});
  EXPECT_EQ(folder_refusal(model, "bf16", "@head=fp32"),
            "embeddings (bf16) and head (fp32): share 'model.embed_tokens.weight', which a folder holds in one form");
}

}  // namespace
}  // namespace assay
