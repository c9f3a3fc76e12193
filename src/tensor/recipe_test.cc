#include "tensor/recipe.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

Recipe small_recipe() {
  return {.name = "mix",
          .rest = &find_precision("bf16"),
          .kv = DType::s8,
          .layers = {{"@mlp", &find_precision("int8")}, {"layers.1.mlp.down_proj", &find_precision("fp32")}}};
}

TEST(Recipes, ArePrecisionsWithRowsByLayerAndANameOfTheirOwn) {
  const PrecisionChoice choice = choose_precision(small_recipe(), DType::bf16);
  EXPECT_EQ(precision_name(small_recipe()), "recipe:mix");
  EXPECT_STREQ(choice.row.name, "bf16");
  EXPECT_EQ(choice.override_for(Role::kv), DType::s8);
  const auto row_at = [&](const char* path) { return std::string(choice.layer_override(path, Role::mlp)->row.name); };
  EXPECT_EQ(row_at("layers.0.mlp.down_proj"), "int8");
  EXPECT_EQ(row_at("layers.1.mlp.down_proj"), "fp32") << "the last that matches decides";
  EXPECT_EQ(choice.layers[0].row.activations, DType::bf16) << "settled as the row itself would be";
}

TEST(Recipes, HaveOneTextForWhatTheySay) {
  EXPECT_EQ(recipe_text(small_recipe()),
            "[precision]\ndefault = \"bf16\"\nkv = \"s8\"\nmlp = \"int8\"\n\"layers.1.mlp.down_proj\" = \"fp32\"\n");
}

TEST(Recipes, BeginErrorsWithThePlace) {
  const Precision& row = find_precision("int8");
  EXPECT_EQ(words({"@mlp", &row, "mix.toml:4"}), "mix.toml:4: 'mlp'");
  EXPECT_EQ(words({"layers.9.*", &row, "mix.toml:5"}), "mix.toml:5: 'layers.9.*'");
}

}  // namespace
}  // namespace assay
