#include "studies/tune/run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/file.h"
#include "formats/npy.h"
#include "formats/recipe_file.h"
#include "formats/testing.h"
#include "hardware/machine.h"

namespace assay {
namespace {

/// A small language model on made-up rows of ids, on a machine without 16-bit products.
class Tune : public testing::Test {
 protected:
  static constexpr std::int64_t rows = 16;
  static constexpr std::int64_t seq = 16;

  Tune() {
    std::vector<std::int32_t> ids;
    ids.reserve(rows * seq);
    for (std::int32_t i = 0; i < rows * seq; ++i) ids.push_back((i * 31 + i * i * 7) % 60 + 1);
    write_npy(folder_.path() / "input_ids.npy", NpyType::s32, {rows, seq}, std::as_bytes(std::span(ids)));
    request_.model = ASSAY_SOURCE_DIR "/tests/fixtures/models/llama-tied";
    request_.data = folder_.path();
    request_.precisions = {"int8", "int8-weights", "int4-weights"};
    request_.search_rows = 8;
    request_.gradient_rows = 4;
    request_.seq = seq;
    request_.timed_seconds = 0.02;
    request_.seconds = 20;
    request_.aim = Aim::bytes;
    request_.recipe = folder_.path() / "best.toml";
    request_.energy.meters.name = "none";
  }

  Document document(const StudyCallbacks& callbacks = {}) const {
    return tune(request_, [] { return read_machine_facts({.max_isa = "avx2", .threads = 2, .root = "/"}); }, callbacks);
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

  TemporaryFolder folder_;
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

TEST_F(Tune, KeepsTheLimitOnRowsThatItDidNotSearchOn) {
  request_.limit.most = 1e-4;
  const Document found = document();
  const Table& points = table(found, "points");
  std::size_t kept = 0;
  for (const auto& row : points.rows) {
    if (!std::get<bool>(cell(points, row, "keeps_limit"))) continue;
    ++kept;
    EXPECT_LE(number(cell(points, row, "kl")), request_.limit.most);
  }
  EXPECT_GE(kept, 1U) << "fp32 loses nothing";
  EXPECT_TRUE(std::filesystem::exists(request_.recipe));
}

TEST_F(Tune, NoUniformPrecisionThatKeepsTheLimitIsCheaper) {
  for (const double most : {1e-5, 1e-3, 1e-1}) {
    request_.limit.most = most;
    const Document found = document();
    const Table& points = table(found, "points");
    std::int64_t least_uniform = std::numeric_limits<std::int64_t>::max();
    std::int64_t least = least_uniform;
    for (const auto& row : points.rows) {
      if (!std::get<bool>(cell(points, row, "keeps_limit"))) continue;
      const std::int64_t bytes = std::get<std::int64_t>(cell(points, row, "model_bytes"));
      const bool is_mix = std::get<std::string>(cell(points, row, "precision")).starts_with("recipe:");
      least = std::min(least, bytes);
      if (!is_mix) least_uniform = std::min(least_uniform, bytes);
    }
    EXPECT_LE(least, least_uniform) << most;
  }
}

TEST_F(Tune, GoesOnFromItsState) {
  request_.limit.most = 1e-3;
  request_.resume = folder_.path() / "state.json";
  document();
  const std::string state = read_file(request_.resume, 1 << 24);
  EXPECT_NE(state.find("\"mixes\""), std::string::npos);
  document();
  EXPECT_EQ(read_file(request_.resume, 1 << 24), state) << "nothing was measured again";
  request_.window = 64;
  request_.search_rows = 4;
  EXPECT_THROW(document(), Error) << "of other rows";
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
