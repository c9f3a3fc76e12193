#include "formats/recipe_file.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace assay {
namespace {

std::string recipe_error(const std::string& text) {
  try {
    parse_recipe(text, "mix.toml");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(RecipeFile, SaysRowsInTheOrderOfItsLines) {
  const Recipe recipe = parse_recipe(
      "[precision]\n\"layers.*.mlp.*\" = \"int8\"\nhead = \"fp32\"\ndefault = \"bf16\"\n"
      "\"layers.1.mlp.down_proj\" = \"int8-group\"\nkv = \"s8\"\n",
      "folder/mix.toml");
  EXPECT_EQ(recipe.name, "mix");
  EXPECT_STREQ(recipe.rest->name, "bf16");
  EXPECT_EQ(recipe.kv, DType::s8);
  ASSERT_EQ(recipe.layers.size(), 3U);
  EXPECT_EQ(recipe.layers[0].pattern, "layers.*.mlp.*");
  EXPECT_EQ(recipe.layers[1].pattern, "@head");
  EXPECT_EQ(recipe.layers[2].pattern, "layers.1.mlp.down_proj");
  EXPECT_STREQ(recipe.layers[2].row->name, "int8-group");
  EXPECT_EQ(recipe.layers[2].place, "folder/mix.toml:5");
}

TEST(RecipeFile, ReadsBackWhatARecipeIsWrittenAs) {
  const std::string text =
      "[precision]\ndefault = \"int8\"\nkv = \"bf16\"\nattention = \"bf16\"\n\"layers.0.*\" = \"fp32\"\n";
  EXPECT_EQ(recipe_text(parse_recipe(text, "any.toml")), text);
}

TEST(RecipeFile, SaysWhichParametersTrainOtherwise) {
  const std::string text =
      "[precision]\ndefault = \"mixed-bf16\"\n\n[training]\nno-decay = \"norms,biases\"\n"
      "lr-by-role = \"embedding=0.0001\"\n";
  EXPECT_EQ(recipe_text(parse_recipe(text, "any.toml")), text);
  EXPECT_EQ(recipe_error("[precision]\n[training]\nno-decoy = \"norms\"\n"),
            "mix.toml:3: 'no-decoy' is no key of [training], which has no-decay and lr-by-role; did you mean "
            "'no-decay'?");
  EXPECT_EQ(recipe_error("[precision]\n[training]\nno-decay = 1\n"), "mix.toml:3: 'no-decay' must be words in quotes");
  EXPECT_EQ(recipe_error("[precision]\n[training]\nno-decay = \"all\"\n").find("mix.toml:3: no-decay: 'all'"), 0U);
  EXPECT_EQ(recipe_error("training = 1\n"), "mix.toml:1: 'training' must be a section, [training]");
  EXPECT_EQ(recipe_error("[training]\n"), "mix.toml:1: has no section [precision]");
}

TEST(RecipeFile, TakesPathsWithoutQuotesAsPaths) {
  const Recipe recipe = parse_recipe("[precision]\nlayers.3.mlp.down_proj = \"int8\"\n", "mix.toml");
  ASSERT_EQ(recipe.layers.size(), 1U);
  EXPECT_EQ(recipe.layers[0].pattern, "layers.3.mlp.down_proj");
  EXPECT_STREQ(recipe.rest->name, "fp32") << "where no default is said";
}

TEST(RecipeFile, ErrorsHaveTheLine) {
  EXPECT_EQ(recipe_error(""), "mix.toml:1: has no section [precision]");
  EXPECT_EQ(recipe_error("precision = 3\n"), "mix.toml:1: 'precision' must be a section, [precision]");
  EXPECT_EQ(recipe_error("[precision]\n[precisoin]\n"),
            "mix.toml:2: 'precisoin' is no section of a recipe, which has [precision] and [training]; did you mean "
            "'precision'?");
  EXPECT_EQ(recipe_error("[precision]\nmlp = 8\n"), "mix.toml:2: 'mlp' must be a precision in quotes");
  EXPECT_EQ(recipe_error("[precision]\n\"\" = \"int8\"\n"), "mix.toml:2: a key without a character names no layer");
  EXPECT_EQ(recipe_error("[precision]\n\nkv = \"int4\"\n"), "mix.toml:3: kv can be f32, f16, bf16 or s8, not 'int4'");
  EXPECT_EQ(recipe_error("[precision]\nhead = \"int9\"\n").find("mix.toml:2: precision 'int9': is not known"), 0U);
  EXPECT_EQ(recipe_error("[precision]\n\"a.b\" = \"int8\"\na.b = \"bf16\"\n"),
            "mix.toml:3: 'a.b' stands twice, first at mix.toml:2");
  EXPECT_EQ(recipe_error("[precision]\nmlp = \"int8\"\nmlp = \"bf16\"\n").find("mix.toml:3: "), 0U);
  EXPECT_EQ(recipe_error("[precision]\nmlp = \n").find("mix.toml:2: "), 0U);
}

}  // namespace
}  // namespace assay
