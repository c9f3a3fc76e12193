#include "studies/explain_perplexity/run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/json.h"
#include "formats/npy.h"
#include "formats/testing.h"
#include "hardware/machine.h"
#include "results/document.h"
#include "results/fields.h"

namespace assay {
namespace {

/// A small random language model on ten made-up rows of 24 ids, of which row r has its first 2 (r + 1) real.
class ExplainPerplexity : public testing::Test {
 protected:
  static constexpr std::int64_t rows = 10;
  static constexpr std::int64_t seq = 24;

  void write_rows(std::int64_t first_column_of_padding(std::int64_t row)) {
    std::vector<std::int32_t> ids;
    std::vector<std::uint8_t> mask;
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t t = 0; t < seq; ++t) {
        const bool real = t < first_column_of_padding(row);
        ids.push_back(real ? static_cast<std::int32_t>((row * 31 + t * t * 7) % 60 + 1) : 0);
        mask.push_back(real ? 1 : 0);
      }
    }
    write_npy(folder_.path() / "input_ids.npy", NpyType::s32, {rows, seq}, std::as_bytes(std::span(ids)));
    write_npy(folder_.path() / "attention_mask.npy", NpyType::u8, {rows, seq}, std::as_bytes(std::span(mask)));
  }

  PerplexityStudy study(const std::string& model = "llama-tied") {
    PerplexityRequest request;
    request.model = ASSAY_SOURCE_DIR "/tests/fixtures/models/" + model;
    request.quality.data = folder_.path();
    return study_perplexity(request, read_machine_facts(), {});
  }

  TemporaryFolder folder_;
};

TEST_F(ExplainPerplexity, GivesEachCombinationItsFigure) {
  write_rows([](std::int64_t row) { return 2 * (row + 1); });
  const PerplexityStudy s = study();
  EXPECT_EQ(s.rows, rows);
  EXPECT_EQ(s.lengths, std::vector<std::int64_t>{seq}) << "shorter than the shortest cut";
  EXPECT_EQ(s.batches, (std::vector<std::int64_t>{1, 8}));
  EXPECT_EQ(s.padding, 240 - 2 * 55);
  EXPECT_TRUE(s.padded_right);
  // Padding x mask x (tokens, two batch sizes for each of the two means of batches).
  EXPECT_EQ(s.figures.size(), 2u * 2 * 5);
  EXPECT_TRUE(s.windows.empty()) << "given rows are no text";
  EXPECT_EQ(s.honest().average.scored, 2 * 55 - rows);
  EXPECT_EQ(s.honest().average.padding, 0);
}

TEST_F(ExplainPerplexity, UnderRightPaddingTheMaskChangesNoRealPrediction) {
  write_rows([](std::int64_t row) { return 2 * (row + 1); });
  const PerplexityStudy s = study();
  const RowsFigure& bare = s.at(MaskUse::withheld, s.honest().options);
  EXPECT_NEAR(bare.average.nll, s.honest().average.nll, 1e-6);
  EXPECT_NE(perplexity_sentences(s)[2].find("a causal model never looks right"), std::string::npos)
      << perplexity_sentences(s)[2];
}

TEST_F(ExplainPerplexity, ScoredPaddingIsPartOfTheMean) {
  write_rows([](std::int64_t row) { return 2 * (row + 1); });
  const PerplexityStudy s = study();
  AverageOptions options = s.honest().options;
  options.padding = PaddingScored::yes;
  const Average& all = s.at(MaskUse::passed, options).average;
  EXPECT_EQ(all.scored, rows * (seq - 1));
  EXPECT_EQ(all.padding, all.scored - s.honest().average.scored);
  EXPECT_NE(all.nll, s.honest().average.nll);
}

TEST_F(ExplainPerplexity, WithoutPaddingNeitherMaskNorPaddingMatter) {
  write_rows([](std::int64_t) { return seq; });
  const PerplexityStudy s = study();
  const std::vector<std::string> sentences = perplexity_sentences(s);
  EXPECT_EQ(sentences[1], "Padding scored: no difference, no row has padding.");
  EXPECT_NE(sentences[2].find("no row has padding"), std::string::npos) << sentences[2];
}

TEST_F(ExplainPerplexity, RecordsNameTheProtocolAndFitTheSchema) {
  write_rows([](std::int64_t row) { return 2 * (row + 1); });
  const PerplexityStudy s = study();
  const Document document = to_document(s);
  ASSERT_EQ(document.records.size(), s.figures.size());
  std::set<std::string> protocols;
  for (const Record& record : document.records) {
    protocols.insert(*record.quality->protocol);
    EXPECT_NEAR(*record.quality->perplexity, std::exp(*record.quality->log_perplexity),
                1e-9 * *record.quality->perplexity);
  }
  EXPECT_EQ(protocols.size(), document.records.size());
  EXPECT_EQ(*document.records[0].quality->protocol,
            "rows of 24 as given, mask passed, padding not scored, mean over tokens");
  EXPECT_EQ(document.findings.size(), perplexity_sentences(s).size());
  const Document of_records = {.records = document.records, .findings = document.findings};
  const Json schema = Json::parse(document_schema().dump());
  EXPECT_EQ(schema_violations(schema, Json::parse(to_json(of_records).dump())), std::vector<std::string>{});
}

TEST_F(ExplainPerplexity, StepsOfTheHighestFigureAddUp) {
  write_rows([](std::int64_t row) { return 2 * (row + 1); });
  const std::string sentence = perplexity_sentences(study()).back();
  const std::size_t total_at = sentence.find("), ") + 3;
  double sum = 0;
  for (const char* step : {"length ", "padding ", "mask ", "averaging "}) {
    const std::size_t at = sentence.find(std::string(step) + "+", total_at);
    const std::size_t below = sentence.find(std::string(step) + "-", total_at);
    const std::size_t found = std::min(at, below);
    if (found != std::string::npos) sum += std::stod(sentence.substr(found + std::string(step).size()));
  }
  EXPECT_NEAR(sum, std::stod(sentence.substr(total_at)), 3e-4) << sentence;
}

TEST_F(ExplainPerplexity, TablesHoldTheSameFiguresAsTheRecords) {
  write_rows([](std::int64_t row) { return 2 * (row + 1); });
  const OrderedJson json = to_json(to_document(study()));
  ASSERT_EQ(json["perplexities"].size(), 4U) << "padding x mask";
  EXPECT_EQ(json["perplexities"][0]["padding"], "left out");
  EXPECT_EQ(json["perplexities"][0]["tokens"], json["records"][0]["perplexity"]);
  EXPECT_TRUE(json["perplexities"][0]["ppl_8"].is_number());
  EXPECT_FALSE(json.contains("windows"));
}

TEST_F(ExplainPerplexity, NeedsALanguageModel) {
  write_rows([](std::int64_t) { return seq; });
  const std::string message = user_error_of([&] { study("distilbert-classifier"); });
  EXPECT_NE(message.find("perplexity needs a language model"), std::string::npos) << message;
}

}  // namespace
}  // namespace assay
