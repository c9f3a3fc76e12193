#include "studies/tune/run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <variant>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/paths.h"
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
#include "studies/shared/energy_testing.h"
#include "studies/tune/run.h"

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

TEST_F(Tune, MakesJoulesSmallByAMeter) {
  const RunningPackage package(2, 5);
  request_.aim = Aim::energy;
  request_.precisions = {"int8-weights", "int4-weights"};
  request_.limit.most = 1e6;
  request_.root = package.root();
  request_.energy.meters.name = "rapl";
  request_.energy.cool_down_s = 0;
  std::vector<std::string> said;
  StudyCallbacks callbacks;
  callbacks.say = [&](const std::string& sentence) { said.push_back(sentence); };
  const Document found = tune(request_, facts, callbacks);
  const auto is_said = [&](std::string_view words) {
    return std::any_of(said.begin(), said.end(),
                       [&](const std::string& sentence) { return sentence.find(words) != std::string::npos; });
  };
  EXPECT_TRUE(is_said("energy of whole runs in 3 windows of")) << "fp32 and both rows, said before";
  ASSERT_FALSE(found.records.empty());
  for (const Record& record : found.records)
    EXPECT_GT(record.energy->energy_j.value_or(0), 0) << record.setting.precision;
  for (const auto& row : table(found, "points").rows) {
    const Table::Cell& joules = cell(table(found, "points"), row, "energy_j");
    const auto* absent = std::get_if<Absent>(&joules);
    EXPECT_TRUE(absent == nullptr ? number(joules) > 0 : !absent->reason.empty());
  }
  EXPECT_EQ(found.figures.front().x.unit, "J");
  const std::string& verdict = found.sentences.front().texts[0];
  const bool is_advice = verdict.starts_with("Take ") && verdict.find(" J a sequence") != std::string::npos;
  EXPECT_TRUE(is_advice || verdict.starts_with("No advice for energy")) << verdict;
  EXPECT_EQ(is_there(request_.recipe), is_advice) << verdict;
}

TEST_F(Tune, RefusesToMakeJoulesSmallWithoutAMeter) {
  const RecordedTree empty;
  request_.aim = Aim::energy;
  request_.root = empty.root();
  request_.energy.meters.name = "auto";
  try {
    document();
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ExitCode::lacking);
    EXPECT_NE(std::string(e.what()).find("--minimise energy: no meter: "), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("powercap is absent"), std::string::npos) << e.what();
  }
}

/// fp32, a row that is faster and a mix that takes less, all within the limit.
class ChosenByJoules : public testing::Test {
 protected:
  ChosenByJoules() {
    tuning_.aim = Aim::energy;
    add_point("fp32", 10, 3);
    add_point("int8", 2, 2);
    add_point("recipe:mix-1", 4, 1.5);
    tuning_.points.back().is_mix = true;
  }

  void add_point(const std::string& precision, double ms, double joules) {
    TunePoint point{precision, {precision, &find_precision("int8")}};
    point.held_out = UnitQuality{};
    tuning_.points.push_back(std::move(point));
    Record record;
    record.setting.precision = precision;
    record.latency.made().median_ms = ms;
    record.energy.made().energy_j = joules;
    record.energy.made().energy_uncertainty_j = 0.1;
    record.energy.made().energy_status = {EnergyState::metered, "RAPL: package-0"};
    timed_.records.push_back(std::move(record));
  }
  std::string told() {
    choose_best(tuning_, timed_);
    describe(tuning_, timed_);
    return timed_.sentences.front().texts.front();
  }

  Tuning tuning_;
  Document timed_;
};

TEST_F(ChosenByJoules, TheLeastAreTakenWhateverTimeSays) {
  const std::string verdict = told();
  EXPECT_TRUE(verdict.starts_with("Take recipe:mix-1: 1.5 J a sequence, 0.50 of fp32's")) << verdict;
  EXPECT_NE(verdict.find("The best uniform precision that keeps it: int8, 2 J a sequence"), std::string::npos)
      << verdict;
  EXPECT_EQ(verdict.find("bounds do not tell"), std::string::npos) << verdict;
}

TEST_F(ChosenByJoules, BoundsThatOverlapAreTold) {
  timed_.records[2].energy.made().energy_j = 1.9;
  EXPECT_NE(told().find("The meter's bounds do not tell the two apart."), std::string::npos);
}

TEST_F(ChosenByJoules, JoulesInDoubtAreNotChosenFrom) {
  timed_.records[2].energy.made().energy_conflict = "two meters differ";
  const std::string verdict = told();
  EXPECT_TRUE(verdict.starts_with("Take int8: ")) << verdict;
  EXPECT_NE(verdict.find("recipe:mix-1 (two meters differ)"), std::string::npos) << verdict;
}

TEST_F(ChosenByJoules, WithoutJoulesThereIsNoAdvice) {
  for (Record& record : timed_.records)
    record.energy.made() = {.energy_status = {EnergyState::no_meter, "the counter stood still"}};
  const std::string verdict = told();
  EXPECT_FALSE(tuning_.best.has_value());
  EXPECT_TRUE(verdict.starts_with("No advice for energy")) << verdict;
  EXPECT_NE(verdict.find("fp32 (no meter: the counter stood still)"), std::string::npos) << verdict;
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
