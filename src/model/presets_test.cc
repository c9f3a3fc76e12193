#include "model/presets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "model/architecture.h"
#include "model/random_weights.h"
#include "model/testing.h"

namespace assay {
namespace {

std::int64_t parameters_of(const char* name) {
  const Preset* preset = find_preset(name);
  if (preset == nullptr) return -1;
  return random_weights(build_program(preset->config, {}), preset->config, 1).parameters();
}

TEST(Presets, HaveThePublishedNumbersOfParameters) {
  EXPECT_EQ(parameters_of("gpt2"), 124'439'808);
  EXPECT_EQ(parameters_of("gpt2-medium"), 354'823'168);
  EXPECT_EQ(parameters_of("gpt2-large"), 774'030'080);
  EXPECT_EQ(parameters_of("gpt2-xl"), 1'557'611'200);
  EXPECT_EQ(parameters_of("distilbert-base"), 66'955'010);
  EXPECT_EQ(parameters_of("cs336-small"), 128'625'408);
  EXPECT_EQ(parameters_of("cs336-medium"), 423'183'360);
  EXPECT_EQ(parameters_of("cs336-large"), 969'411'840);
  EXPECT_EQ(parameters_of("cs336-xl"), 1'998'235'200);
  EXPECT_EQ(parameters_of("cs336-2.7b"), 3'406'809'600);
  EXPECT_EQ(parameters_of("cs336-10b"), 12'832'823'808);
  // bert-base-uncased without its pooler (590,592), which an embedding does not read
  EXPECT_EQ(parameters_of("bert-base"), 109'482'240 - 590'592);
  EXPECT_EQ(find_preset("gpt3"), nullptr);
}

Weights small_weights(std::uint64_t seed) {
  return random_weights(build_program(small_gpt2(), {}), small_gpt2(), seed);
}

TEST(RandomWeights, DependOnSeedAndNameAlone) {
  const auto bytes = [](const Weights& weights, const std::string& name) {
    const WeightData data = weights.at(name).load();
    return std::string(reinterpret_cast<const char*>(data.view.data), data.view.bytes());
  };
  const std::string fc = "h.0.mlp.c_fc.weight";
  EXPECT_EQ(bytes(small_weights(1), fc), bytes(small_weights(1), fc));
  EXPECT_NE(bytes(small_weights(1), fc), bytes(small_weights(2), fc));
  EXPECT_NE(bytes(small_weights(1), fc), bytes(small_weights(1), "h.1.mlp.c_fc.weight"));
}

double deviation_of(const Weight& weight) {
  const WeightData data = weight.load();
  double sum = 0;
  for (std::int64_t i = 0; i < data.view.count(); ++i) sum += std::pow(data.view.as<float>()[i], 2);
  return std::sqrt(sum / static_cast<double>(data.view.count()));
}

TEST(RandomWeights, Gpt2sResidualProjectionsAreNarrower) {
  const Weights weights = small_weights(3);
  EXPECT_NEAR(deviation_of(weights.at("h.0.mlp.c_fc.weight")), 0.02, 0.002);
  EXPECT_NEAR(deviation_of(weights.at("h.0.mlp.c_proj.weight")), 0.02 / std::sqrt(2.0 * 2), 0.001);
  EXPECT_EQ(deviation_of(weights.at("h.0.ln_1.weight")), 1);
  EXPECT_EQ(deviation_of(weights.at("h.0.mlp.c_fc.bias")), 0);
  EXPECT_EQ(weights.stored_dtypes(), "random");
}

TEST(RandomWeights, OfCs336AreCutAtThreeDeviations) {
  ModelConfig config = find_preset("cs336-small")->config;
  config.vocab_size = 500;
  config.d_model = 64;
  config.heads = config.kv_heads = 4;
  config.head_dim = 16;
  config.d_ff = 96;
  config.layers = 1;
  const Weights weights = random_weights(build_program(config, {}), config, 1);
  const WeightData table = weights.at("token_embeddings.weight").load();
  double largest = 0;
  for (std::int64_t i = 0; i < table.view.count(); ++i) {
    largest = std::max(largest, std::abs(static_cast<double>(table.view.as<float>()[i])));
  }
  EXPECT_LE(largest, 3);
  EXPECT_GT(largest, 2.8) << "32,000 draws come close to the cut";
  EXPECT_NEAR(deviation_of(weights.at("layers.0.ffn.w1.weight")), std::sqrt(2.0 / (64 + 96)), 0.005);
}

}  // namespace
}  // namespace assay
