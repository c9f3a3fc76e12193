#include <set>

#include "cli_fixture.h"

namespace assay {
namespace {

/// A folder in which mix.toml is a sound recipe.
class CliRecipe : public Cli {
 protected:
  void SetUp() override {
    Cli::SetUp();
    write_text(folder_.path() / "mix.toml",
               "[precision]\ndefault = \"fp32\"\nkv = \"s8\"\nattention = \"bf16\"\n\"layers.0.mlp.*\" = \"int8\"\n");
  }
};

TEST_F(CliRecipe, IsAPrecisionBesideOthers) {
  const Outcome outcome =
      bench({"--precision", "fp32,int8", "--recipe", "mix.toml", "--emulated", "--json", "out.json", "--isolate"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("recipe:mix"), std::string::npos) << outcome.out;
  const Json records = records_of("out.json");
  ASSERT_EQ(records.size(), 3U);
  EXPECT_EQ(records[1].at("recipe"), nullptr);
  const Json& mix = records[2];
  EXPECT_EQ(mix.at("precision"), "recipe:mix");
  EXPECT_EQ(mix.at("recipe_hash").get<std::string>().size(), 64U);
  std::set<std::string> requested;
  for (const Json& row : mix.at("ledger")) requested.insert(row.at("requested").get<std::string>());
  EXPECT_TRUE(requested.contains("int8") && requested.contains("bf16")) << "the ledger says each layer's row";

  write_text(folder_.path() / "again.toml", mix.at("recipe").get<std::string>());
  const Outcome again = bench({"--recipe", "again.toml", "--emulated", "--json", "again.json"});
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(records_of("again.json")[1].at("recipe_hash"), mix.at("recipe_hash")) << "it can be run again";
}

TEST_F(CliRecipe, IsTheOnePrecisionOfOtherCommands) {
  const Outcome explained = run({"explain", "model", "--recipe", "mix.toml", "--seq", "8"});
  EXPECT_EQ(explained.exit_code, 0) << explained.err;
  EXPECT_NE(explained.out.find("model in recipe:mix"), std::string::npos) << explained.out;
  EXPECT_EQ(dump({"--recipe", "mix.toml"}).exit_code, 0);
  const Outcome memory = run({"memory", "model", "--recipe", "mix.toml", "--seq", "8"});
  EXPECT_NE(memory.out.find("recipe:mix"), std::string::npos) << memory.out << memory.err;
  const Outcome generated =
      run({"generate", "model", "--tokens", "tokens.json", "--new", "3", "--recipe", "mix.toml", "--json", "-"});
  EXPECT_NE(generated.out.find("\"precision\":\"recipe:mix\""), std::string::npos) << generated.out << generated.err;
}

TEST_F(CliRecipe, FaultsAreNamedWithTheirLine) {
  const auto expect_fault = [&](const std::string& text, const std::string& part) {
    SCOPED_TRACE(text);
    write_text(folder_.path() / "bad.toml", text);
    expect_failure({"explain", "model", "--recipe", "bad.toml", "--seq", "8"}, 2, part);
    expect_failure({"bench", "model", "--recipe", "bad.toml", "--rounds", "1", "--seconds", "0.05", "--seq", "8",
                    "--quality", "none"},
                   2, part);
  };
  expect_fault("[precision]\nmlp = \"int9\"\n", "bad.toml:2: precision 'int9'");
  expect_fault("[precision]\n\n\"layers.9.*\" = \"int8\"\n",
               "bad.toml:3: 'layers.9.*': nothing of this model has such");
  expect_fault("[precision]\nmlp = \"int8\"\nmlp = \"bf16\"\n", "bad.toml:3: ");
  expect_fault("[precision\n", "bad.toml:1: ");
  expect_fault("[other]\n", "bad.toml:1: 'other' is no section");
  expect_failure({"explain", "model", "--recipe", "missing.toml"}, 2, "missing.toml");
  expect_failure({"explain", "model", "--seq", "8", "--recipe", "mix.toml", "--with", "head=bf16"}, 2,
                 "a recipe says all itself");
  expect_failure({"explain", "model", "--seq", "8", "--precision", "recipe:other"}, 2,
                 "--recipe gives none of that name");
  expect_failure({"train", "model", "--tokens", "tokens.json", "--steps", "1", "--recipe", "mix.toml"}, 2,
                 "mix.toml:4: 'attention': layers can have a precision of their own in inference");
}

TEST_F(CliRecipe, QuantizeWritesItWholeOrNotAtAll) {
  const Outcome written = run({"quantize", "model", "--precision", "bf16", "--out", "written"});
  ASSERT_EQ(written.exit_code, 0) << written.err;
  EXPECT_NE(written.err.find("written: 0 weights in codes"), std::string::npos) << written.err;
  EXPECT_EQ(
      run({"dump", "written", "--tokens", "tokens.json", "--precision", "stored", "--out", "o.safetensors"}).exit_code,
      0);
  expect_failure({"quantize", "model", "--precision", "bf16", "--out", "written"}, 2,
                 "written: is there already; --overwrite");
  EXPECT_EQ(run({"quantize", "model", "--precision", "fp32", "--out", "written", "--overwrite"}).exit_code, 0);
  expect_failure({"quantize", "model", "--precision", "int8", "--out", "other"}, 2, "(int8)");
  expect_failure({"quantize", "model", "--out", "other"}, 2, "--precision or --recipe says in what");
  expect_failure({"quantize", "model", "--precision", "bf16", "--out", "no/folder/here"}, 2,
                 "there is no folder no/folder");
  expect_failure({"quantize", "model", "--precision", "bf16", "--out", "written.GGUF"}, 2,
                 "models of family cs336 are not written as GGUF");
  fs::create_directory(folder_.path() / "mine");
  write_text(folder_.path() / "mine" / "notes.txt", "kept");
  expect_failure({"quantize", "model", "--precision", "bf16", "--out", "mine", "--overwrite"}, 2,
                 "mine: holds no model that could be overwritten");
}

}  // namespace
}  // namespace assay
