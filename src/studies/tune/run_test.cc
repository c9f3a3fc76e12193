#include "studies/tune/run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <variant>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/testing.h"
#include "base/write_file.h"
#include "formats/npy.h"
#include "formats/recipe_file.h"
#include "formats/testing.h"
#include "hardware/facts.h"
#include "hardware/machine.h"
#include "results/table.h"
#include "statistics/statistics.h"
#include "studies/bench/request.h"

namespace assay {
namespace {

/// A small language model on made-up rows of ids, on a machine without 16-bit products.
class Tune : public testing::Test {
 protected:
  static constexpr std::int64_t rows = 16;
  static constexpr std::int64_t searched = 8;
  static constexpr std::int64_t seq = 16;

  Tune() {
    std::vector<std::int32_t> ids;
    ids.reserve(rows * seq);
    for (std::int32_t i = 0; i < rows * seq; ++i) ids.push_back((i * 31 + i * i * 7) % 60 + 1);
    write_npy(folder_.path() / "input_ids.npy", NpyType::s32, {rows, seq}, std::as_bytes(std::span(ids)));
    const auto behind = std::span(ids).subspan(searched * seq);
    write_npy(held_out_.path() / "input_ids.npy", NpyType::s32, {rows - searched, seq}, std::as_bytes(behind));
    request_.model = ASSAY_SOURCE_DIR "/tests/fixtures/models/llama-tied";
    request_.data = folder_.path();
    request_.precisions = {"int8", "int8-weights", "int4-weights"};
    request_.search_rows = searched;
    request_.gradient_rows = 4;
    request_.seq = seq;
    request_.timed_seconds = 0.02;
    request_.seconds = 20;
    request_.aim = Aim::bytes;
    request_.recipe = folder_.path() / "best.toml";
    request_.energy.meters.name = "none";
  }

  static MachineFacts facts() { return read_machine_facts({.max_isa = "avx2", .threads = 2, .root = "/"}); }

  Document document() const { return tune(request_, facts, {}); }

  /// KL of bench, which knows nothing of the search.
  double kl_of_recipe(const Recipe& recipe, const TemporaryFolder& data) const {
    BenchRequest bench_request;
    bench_request.models = {request_.model};
    bench_request.precisions = {precision_name(recipe)};
    bench_request.engine.recipes = {recipe};
    bench_request.data = data.path();
    bench_request.rounds = 1;
    bench_request.processes = 1;
    bench_request.energy.meters.name = "none";
    const Document document = bench(bench_request, facts, {});
    return document.records.back().difference->kl_mean.value();
  }

  static const Table& table(const Document& document, const std::string& key) {
    return *std::find_if(document.tables.begin(), document.tables.end(),
                         [&](const Table& one) { return one.key == key; });
  }
  static const Table::Cell& cell(const Table& table, const std::vector<Table::Cell>& row, const std::string& key) {
    const auto column = std::find_if(table.columns.begin(), table.columns.end(),
                                     [&](const Table::Column& one) { return one.key == key; });
    return row[static_cast<std::size_t>(column - table.columns.begin())];
  }
  static double number(const Table::Cell& cell) {
    if (const auto* estimate = std::get_if<Estimate>(&cell)) return estimate->value;
    return std::get<double>(cell);
  }

  /// The row of the first precision that begins so.
  static const std::vector<Table::Cell>& point(const Document& document, const std::string& precision) {
    const Table& points = table(document, "points");
    return *std::find_if(points.rows.begin(), points.rows.end(), [&](const std::vector<Table::Cell>& row) {
      return std::get<std::string>(cell(points, row, "precision")).starts_with(precision);
    });
  }
  static double kl_of(const Document& document, const std::string& precision) {
    return number(cell(table(document, "points"), point(document, precision), "kl"));
  }
  static std::int64_t bytes_of(const Document& document, const std::string& precision) {
    return std::get<std::int64_t>(cell(table(document, "points"), point(document, precision), "model_bytes"));
  }

  TemporaryFolder folder_;
  TemporaryFolder held_out_;
  TuneRequest request_;
};

TEST_F(Tune, TakesFewestBytesWhereAnyLossMayBe) {
  request_.limit.most = 1e6;
  document();
  const Recipe best = load_recipe(request_.recipe);
  const auto is_smallest = [](const RecipeLayers& layer) {
    return std::string_view(layer.row->name) == "int4-weights";
  };
  EXPECT_TRUE(std::string_view(best.rest->name) == "int4-weights" ||
              (!best.layers.empty() && std::all_of(best.layers.begin(), best.layers.end(), is_smallest)));
}

/// Between what rows of 8 and of 4 bits lose, some layers can have 4: no uniform precision is as small.
TEST_F(Tune, FindsAMixThatIsSmallerThanEveryUniformPrecisionWithinTheLimit) {
  request_.precisions = {"int8-weights", "int4-weights"};
  request_.limit.most = 1e6;
  const Document any = document();
  request_.limit.most = std::sqrt(kl_of(any, "int8-weights") * kl_of(any, "int4-weights"));
  const Document found = document();
  const Recipe best = load_recipe(request_.recipe);
  EXPECT_TRUE(std::any_of(best.layers.begin(), best.layers.end(), [](const RecipeLayers& layer) {
    return std::string_view(layer.row->name) == "int4-weights";
  }));
  const double measured = kl_of_recipe(best, held_out_);
  EXPECT_GT(measured, 0);
  EXPECT_LE(measured, request_.limit.most) << "measured by bench, on the rows that were not searched on";
  EXPECT_LT(bytes_of(found, "recipe:"), bytes_of(any, "int8-weights"));
}

TEST_F(Tune, MeasuresNothingAgainThatItsStateHolds) {
  request_.limit.most = 1e-3;
  request_.resume = folder_.path() / "state.json";
  document();
  Json state = parse_json(read_file(request_.resume, 1 << 24), "state");
  ASSERT_FALSE(state.at("mixes").empty());
  for (auto& mix : state.at("mixes")) mix.at("kl").at("value") = 12345.0;
  write_file_atomically(request_.resume, state.dump());
  document();
  const Json after = parse_json(read_file(request_.resume, 1 << 24), "state");
  for (const auto& [recipe, mix] : state.at("mixes").items())
    EXPECT_EQ(after.at("mixes").at(recipe).at("kl").at("value"), 12345.0);
  request_.search_rows = 4;
  EXPECT_THROW(document(), Error) << "of other rows";
}

/// int8 and int8-weights are as large, and the one that keeps activations loses less.
TEST_F(Tune, LeavesOutWhatAnotherRowBeats) {
  const Document found = document();
  EXPECT_NE(found.sentences.front().texts[1].find("No layer was given int8 (int8-weights is"), std::string::npos)
      << found.sentences.front().texts[1];
  const Table& points = table(found, "points");
  EXPECT_TRUE(std::none_of(points.rows.begin(), points.rows.end(), [&](const std::vector<Table::Cell>& row) {
    return std::get<std::string>(cell(points, row, "precision")) == "int8";
  }));
}

/// However short it is: something is searched on, something is held out, and an answer comes.
TEST_F(Tune, CutsWhatIsScoredToTheBudget) {
  constexpr std::int64_t more_rows = 32;
  std::vector<std::int32_t> ids;
  ids.reserve(more_rows * seq);
  for (std::int32_t i = 0; i < more_rows * seq; ++i) ids.push_back((i * 31 + i * i * 7) % 60 + 1);
  const TemporaryFolder more;
  write_npy(more.path() / "input_ids.npy", NpyType::s32, {more_rows, seq}, std::as_bytes(std::span(ids)));
  request_.data = more.path();
  request_.search_rows = 0;
  request_.seconds = 1e-6;
  const Document found = document();
  EXPECT_NE(found.sentences.front().texts[0].find("Take "), std::string::npos) << found.sentences.front().texts[0];
  request_.seconds = 20;
  request_.resume = folder_.path() / "long.json";
  document();
  request_.seconds = 1e-6;
  EXPECT_NO_THROW(document()) << "goes on with as many rows, whatever its budget";
}

TEST_F(Tune, SaysWhereNoRowIsLeftToScore) {
  request_.search_rows = rows;
  try {
    document();
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("none is left to score"), std::string::npos) << e.what();
  }
}

TEST(TuneLosses, AreThoseOfTheLimit) {
  UnitQuality quality;
  quality.kl.value = 0.5;
  EXPECT_EQ(loss_of(LossKind::kl, quality), 0.5);
  EXPECT_TRUE(std::isinf(loss_of(LossKind::drop, quality))) << "no labels: no limit of theirs is kept";
  quality.accuracy_change = Change{-0.02};
  quality.delta_nll = Change{std::log(1.25), Interval{std::log(1.1), std::log(1.5)}};
  EXPECT_DOUBLE_EQ(loss_of(LossKind::drop, quality), 0.02);
  EXPECT_NEAR(loss_of(LossKind::perplexity, quality), 0.25, 1e-12);
  EXPECT_NEAR(*worst_loss(LossKind::perplexity, quality), 0.5, 1e-12);
  quality.failure = "logits are not finite";
  EXPECT_TRUE(std::isinf(loss_of(LossKind::kl, quality)));
}

}  // namespace
}  // namespace assay
