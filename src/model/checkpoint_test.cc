#include "model/checkpoint.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/file.h"
#include "base/json.h"
#include "formats/safetensors.h"
#include "model/architecture.h"
#include "model/model.h"
#include "model/stored_values.h"
#include "model/testing.h"

namespace assay {
namespace {

/// A checkpoint folder whose tensors a test may change before it is opened.
class CheckpointFolder : public testing::Test {
 protected:
  void SetUp() override {
    write_file_atomically(folder_.path() / "config.json",
                          R"({"model_type": "cs336", "vocab_size": 7, "context_length": 9, "d_model": 4,
                              "num_layers": 1, "num_heads": 2, "d_ff": 6, "rope_theta": 10000.0})");
    config_ = parse_config(parse_json(read_file(folder_.path() / "config.json"), "config.json"), "config.json");
    for (const Value& value : build_program(config_, {}).values) {
      if (value.source == Source::weight) add(value.name, concrete(value.shape, {1, 1}), DType::f32);
    }
  }

  void add(const std::string& name, const Shape& shape, DType dtype) {
    Tensor values(DType::f32, shape);
    for (std::int64_t i = 0; i < values.count(); ++i) values.as<float>()[i] = 0.25F * static_cast<float>(i % 5) - 0.5F;
    tensors_[name] = dtype == DType::f32 ? std::move(values) : converted(values.view(), dtype);
  }

  /// Writes the tensors and opens the model.
  Model opened(const CheckpointOptions& options = {}) const {
    std::vector<NamedTensor> named;
    for (const auto& [name, tensor] : tensors_) named.push_back({name, tensor.view()});
    write_safetensors(folder_.path() / "model.safetensors", named);
    return open_model(folder_.path().string(), {.checkpoint = options});
  }

  std::string fault(const CheckpointOptions& options = {}) const {
    return user_error_of([&] { opened(options); });
  }

  TemporaryFolder folder_;
  ModelConfig config_;
  std::map<std::string, Tensor> tensors_;
};

TEST_F(CheckpointFolder, AWholeOneOpens) {
  const Model model = opened();
  EXPECT_EQ(model.weights.by_name.size(), tensors_.size());
  EXPECT_EQ(model.weights.parameters(), 7 * 4 * 2 + 4 * 4 * 4 + 3 * 4 * 6 + 3 * 4);
  EXPECT_EQ(model.weights.stored_dtypes(), "F32");
  EXPECT_TRUE(model.notes.empty());
}

TEST_F(CheckpointFolder, StoredDtypesAreSaidAndReadAsTheyAre) {
  add("lm_head.weight", {7, 4}, DType::bf16);
  add("ln_final.weight", {4}, DType::f16);
  const Model model = opened();
  EXPECT_EQ(model.weights.stored_dtypes(), "BF16 1, F16 1, F32 10");
  const WeightData head = model.weights.at("lm_head.weight").load();
  EXPECT_EQ(head.view.dtype, DType::bf16);
  EXPECT_EQ(in_f32(model.weights.at("lm_head.weight").load()).view.as<float>()[1], -0.25F);
}

TEST_F(CheckpointFolder, AMissingTensorIsNamed) {
  tensors_.erase("layers.0.ffn.w2.weight");
  EXPECT_NE(fault().find("tensor 'layers.0.ffn.w2.weight' is missing"), std::string::npos) << fault();
}

TEST_F(CheckpointFolder, ATensorOfAnotherShapeIsNamedWithBoth) {
  add("layers.0.ffn.w2.weight", {6, 4}, DType::f32);
  const std::string message = fault();
  for (const char* part : {"layers.0.ffn.w2.weight", "(6, 4)", "(4, 6)"}) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  }
}

TEST_F(CheckpointFolder, AnUnknownTensorIsRefusedUnlessAllowed) {
  add("layers.0.attn.extra.weight", {3}, DType::f32);
  EXPECT_NE(fault().find("layers.0.attn.extra.weight"), std::string::npos);
  const Model model = opened({.unused = Unused::allowed});
  ASSERT_EQ(model.notes.size(), 1U);
  EXPECT_NE(model.notes[0].find("layers.0.attn.extra.weight"), std::string::npos);
}

TEST_F(CheckpointFolder, CodesOfAQuantisationAreNoWeights) {
  for (const DType dtype : {DType::s32, DType::s8, DType::u8, DType::e4m3, DType::e5m2}) {
    add("layers.0.ffn.w2.weight", {4, 6}, dtype);
    const std::string message = fault();
    for (const char* part : {"model.safetensors: tensor 'layers.0.ffn.w2.weight'", "codes of a quantisation"}) {
      EXPECT_NE(message.find(part), std::string::npos) << message;
    }
  }
}

TEST_F(CheckpointFolder, WholeNumbersMayStandInBuffersThatNobodyReads) {
  add("layers.0.attn.bias", {2, 2}, DType::u8);
  EXPECT_TRUE(opened().notes.empty());
}

TEST_F(CheckpointFolder, WeightsThatAreNotFiniteAreRefusedUnlessAllowed) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    tensors_.at("layers.0.ln1.weight").as<float>()[2] = bad;
    const Model model = opened();
    const std::string message = user_error_of([&] { model.weights.at("layers.0.ln1.weight").load(); });
    EXPECT_NE(message.find("layers.0.ln1.weight"), std::string::npos) << message;
    opened({.nonfinite = Nonfinite::allowed}).weights.at("layers.0.ln1.weight").load();
  }
}

/// A Llama whose configuration ties the head to the embedding.
class TiedFolder : public CheckpointFolder {
 protected:
  void SetUp() override {
    write_file_atomically(folder_.path() / "config.json",
                          R"({"model_type": "llama", "vocab_size": 7, "max_position_embeddings": 9, "hidden_size": 4,
                              "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 6,
                              "tie_word_embeddings": true})");
    config_ = parse_config(parse_json(read_file(folder_.path() / "config.json"), "config.json"), "config.json");
    for (const Value& value : build_program(config_, {}).values) {
      if (value.source == Source::weight) add(value.name, concrete(value.shape, {1, 1}), DType::f32);
    }
  }

  Model opened_with(const std::function<void(const std::string&)>& say) const {
    opened();
    ModelOptions options;
    options.say = say;
    return open_model(folder_.path().string(), options);
  }
};

TEST_F(TiedFolder, AHeadThatEqualsTheEmbeddingIsHeldOnce) {
  for (const DType dtype : {DType::f32, DType::bf16}) {  // Its values are exact in 16 bits.
    add("lm_head.weight", {7, 4}, dtype);
    const Model model = opened_with([](const std::string& sentence) { ADD_FAILURE() << sentence; });
    EXPECT_TRUE(model.config.tied_head);
    EXPECT_EQ(model.weights.by_name.count("lm_head.weight"), 0U);
  }
}

TEST_F(TiedFolder, AHeadOfItsOwnIsUsedAndSaidSo) {
  add("lm_head.weight", {7, 4}, DType::f32);
  tensors_.at("lm_head.weight").as<float>()[5] = 3;
  std::string said;
  const Model model = opened_with([&](const std::string& sentence) { said = sentence; });
  EXPECT_FALSE(model.config.tied_head);
  EXPECT_EQ(model.weights.at("lm_head.weight").load().view.as<float>()[5], 3);
  EXPECT_NE(said.find("'lm_head.weight' differs from 'embed_tokens.weight'"), std::string::npos) << said;
}

TEST_F(TiedFolder, AHeadWithoutAnEmbeddingIsBoth) {
  add("lm_head.weight", {7, 4}, DType::f32);
  tensors_.at("lm_head.weight").as<float>()[5] = 3;
  tensors_.erase("embed_tokens.weight");
  const Model model = opened();
  EXPECT_TRUE(model.config.tied_head);
  EXPECT_EQ(model.weights.at("embed_tokens.weight").load().view.as<float>()[5], 3);
}

TEST_F(TiedFolder, AHeadOfAnotherShapeIsRefused) {
  add("lm_head.weight", {8, 4}, DType::f32);
  EXPECT_NE(fault().find("lm_head.weight' has shape (8, 4)"), std::string::npos) << fault();
}

}  // namespace
}  // namespace assay
