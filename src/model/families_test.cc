#include "model/families.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/file.h"
#include "base/json.h"
#include "model/architecture.h"
#include "model/config_json.h"
#include "model/model.h"
#include "model/testing.h"
#include "model/text_part.h"

// What every row of the table must have. A family that is added is tested by its row and its fixtures.

namespace assay {
namespace {

/// Fixtures of that `model_type`: folders, or GGUF files.
std::vector<Model> fixtures_of(const Family& family, bool in_gguf) {
  std::vector<Model> models;
  for (const std::string& name : fixtures_with("")) {
    if (name.ends_with(".gguf") != in_gguf) continue;
    Model model = open_model((model_fixtures / name).string(), {});
    if (model.config.family == &family) models.push_back(std::move(model));
  }
  return models;
}

/// Whether it is one of several tensors that make up the weight, or one that holds those of all experts.
bool is_part_of(const std::string& name, const std::string& published, const Weight& weight) {
  const std::size_t experts = published.find(".experts.");
  const bool of_experts = experts != std::string::npos && name.starts_with(published.substr(0, experts + 9));
  return of_experts ||
         (weight.stored.starts_with("GPTQ") && name == published.substr(0, published.rfind('.')) + ".qweight");
}

class EveryFamily : public testing::TestWithParam<const Family*> {};

TEST_P(EveryFamily, HasAFixtureInEachFormThatItIsReadFrom) {
  EXPECT_FALSE(fixtures_of(*GetParam(), false).empty()) << "no folder in " << model_fixtures;
  EXPECT_EQ(fixtures_of(*GetParam(), true).empty(), GetParam()->gguf == nullptr) << "GGUF files in " << model_fixtures;
}

TEST_P(EveryFamily, WritesWhatItReads) {
  for (const Model& model : fixtures_of(*GetParam(), false)) {
    const Json written = config_json(model.config);
    EXPECT_EQ(written.at("model_type"), GetParam()->name);
    ModelConfig back = parse_config(written, "config.json");
    back.pooling = model.config.pooling;  // Stands in a file of its own.
    EXPECT_EQ(config_json(back), written) << model.name;
    EXPECT_EQ(back.family, GetParam());
    EXPECT_EQ(back.task, model.config.task);
    EXPECT_EQ(back.padding_id, model.config.padding_id);
    EXPECT_EQ(to_string(build_program(back, {})), to_string(build_program(model.config, {}))) << model.name;
  }
}

bool is_other_name(const std::string& stored, const std::string& canonical, const Family& family) {
  const auto& names = family.tensors->other_names;
  return std::any_of(names.begin(), names.end(),
                     [&](const auto& name) { return stored == name.stored && canonical == name.canonical; });
}

TEST_P(EveryFamily, NamesItsOwnTensors) {
  for (const Model& model : fixtures_of(*GetParam(), false)) {
    EXPECT_EQ(model.weights.by_name.count(GetParam()->tensors->embedding), 1U) << model.name;
    for (const auto& [canonical, weight] : model.weights.by_name) {
      const std::string published = published_name(canonical, *GetParam());
      const std::string& stored = weight.checkpoint_name;
      const std::string name = model.config.whole == nullptr ? stored : name_in_text_part(stored).value_or("");
      EXPECT_TRUE(name == published || name == canonical || is_part_of(name, published, weight) ||
                  is_other_name(name, canonical, *GetParam()))
          << model.name << ": " << stored;
    }
  }
}

TEST_P(EveryFamily, IsTheOnlyOneOfItsNames) {
  EXPECT_EQ(find_family(GetParam()->name), GetParam());
  for (const Family& other : families()) {
    if (&other == GetParam() || other.gguf == nullptr || GetParam()->gguf == nullptr) continue;
    EXPECT_FALSE(std::string_view(other.gguf->architecture) == GetParam()->gguf->architecture &&
                 other.gguf->has_experts == GetParam()->gguf->has_experts);
  }
}

std::vector<const Family*> every_family() {
  std::vector<const Family*> rows;
  for (const Family& family : families()) rows.push_back(&family);
  return rows;
}

INSTANTIATE_TEST_SUITE_P(Families, EveryFamily, testing::ValuesIn(every_family()),
                         [](const auto& tested) { return test_name(tested.param->name); });

TEST(PublishedName, HeadsTakeNoPrefix) {
  EXPECT_EQ(published_name("h.0.attn.c_attn.weight", *find_family("gpt2")), "transformer.h.0.attn.c_attn.weight");
  EXPECT_EQ(published_name("lm_head.weight", *find_family("llama")), "lm_head.weight");
  EXPECT_EQ(published_name("pooler.dense.weight", *find_family("bert")), "bert.pooler.dense.weight");
  EXPECT_EQ(published_name("pre_classifier.bias", *find_family("distilbert")), "pre_classifier.bias");
  EXPECT_EQ(published_name("layers.0.ln1.weight", *find_family("cs336")), "layers.0.ln1.weight");
}

}  // namespace
}  // namespace assay
