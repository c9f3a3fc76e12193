#include <gtest/gtest.h>

#include "base/file.h"
#include "base/json.h"
#include "hardware/machine.h"
#include "model/testing.h"
#include "quality/compare.h"
#include "studies/shared/quality_data.h"

// Figures of encoders on data of every kind against what transformers gives (tools/generate_quality_fixtures.py).

namespace assay {
namespace {

namespace fs = std::filesystem;

const fs::path quality_fixtures = ASSAY_SOURCE_DIR "/tests/fixtures/quality";

class QualityParity : public testing::Test {
 protected:
  static void SetUpTestSuite() { facts_ = read_machine_facts({.max_isa = "", .threads = 2}); }

  /// What fp32 gives on the data. The models' folders have no tokenizer: one is put beside a copy.
  QualityRows scored(const std::string& name, const std::string& data) {
    const fs::path copy = folder_.path() / name;
    fs::copy(model_fixtures / name, copy, fs::copy_options::recursive);
    fs::copy_file(quality_fixtures / "tokenizer.json", copy / "tokenizer.json");
    const Model model = open_model(copy.string(), {});
    QualityRequest request;
    request.data = quality_fixtures / data;
    request.protocol.window = expected_.at("window");
    const QualityData cut = quality_data(model, request);
    numbers_ = cut.set->numbers;
    const auto instance = make_instance(model, "fp32", engine_for(*cut.set, {}), facts_);
    Instance* const instances[] = {instance.get()};
    return evaluate(instances, *cut.set, {}).qualities[0];
  }

  void expect_figures(const QualityRows& rows, const char* of) const {
    const QualityFigures found = figures(rows);
    const Json& expected = expected_.at(of);
    EXPECT_EQ(found.scored, expected.at("scored"));
    EXPECT_EQ(found.correct, expected.at("correct"));
    EXPECT_NEAR(found.mean_nll, expected.at("mean_nll"), 2e-5);
  }

  static MachineFacts facts_;
  const Json expected_ = parse_json(read_file(quality_fixtures / "expected.json"), "expected.json");
  std::vector<double> numbers_;
  TemporaryFolder folder_;
};

MachineFacts QualityParity::facts_;

TEST_F(QualityParity, PseudoPerplexityOfAMaskedLanguageModel) {
  expect_figures(scored("bert-masked", "text.txt"), "text");
}

TEST_F(QualityParity, ClassesOfPairsWithTheirTokenTypes) {
  expect_figures(scored("bert-pairs", "classes.tsv"), "classes");
}

TEST_F(QualityParity, TagsOfWords) {
  expect_figures(scored("bert-tokens", "tags.jsonl"), "tags");
}

TEST_F(QualityParity, CosinesOfPairsOfEmbeddings) {
  const QualityRows rows = scored("bert-cls", "scores.jsonl");
  const auto expected = expected_.at("scores").get<std::vector<double>>();
  ASSERT_EQ(rows.scores.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(rows.scores[i], expected[i], 2e-5) << i;
  EXPECT_EQ(numbers_, (std::vector<double>{1.5, 4.75, 0, 2, 3.25, 5}));
}

}  // namespace
}  // namespace assay
