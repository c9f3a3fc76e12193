#include "studies/tune/run.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <string_view>
#include <utility>
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
#include "results/made_up_test.h"
#include "results/table.h"
#include "rules/choice.h"
#include "statistics/statistics.h"
#include "studies/bench/request.h"
#include "studies/shared/energy_testing.h"
#include "studies/tune/answer.h"
#include "studies/tune/budget.h"
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

  /// Each token's own class is another id.
  void add_labels() const {
    std::vector<std::int32_t> labels;
    labels.reserve(rows * seq);
    for (std::int32_t i = 0; i < rows * seq; ++i) labels.push_back((i * 17 + 3) % 60 + 1);
    write_npy(folder_.path() / "labels.npy", NpyType::s32, {rows, seq}, std::as_bytes(std::span(labels)));
  }

  /// What the table says of each point that keeps the limit, in its order.
  static std::vector<std::pair<std::string, std::string>> standings(const Document& document) {
    std::vector<std::pair<std::string, std::string>> found;
    const Table& points = table(document, "points");
    for (const auto& row : points.rows) {
      const auto* keeps = std::get_if<bool>(&cell(points, row, "keeps_limit"));
      if (keeps != nullptr && *keeps)
        found.emplace_back(std::get<std::string>(cell(points, row, "precision")),
                           std::get<std::string>(cell(points, row, "stands")));
    }
    return found;
  }

  /// What must hold however busy the machine was: one of the points that keep the limit is taken, which the records
  /// tell from no better one, or none of them may be chosen from.
  void expect_sound_answer(const Document& document, const ChoiceQuestion& question) const {
    const std::string& verdict = document.sentences.front().texts[0];
    const auto stands = standings(document);
    ASSERT_FALSE(stands.empty()) << verdict;
    EXPECT_EQ(stands.front().first, "fp32") << "it loses nothing";
    std::vector<std::string> names;
    std::vector<std::string> taken;
    for (const auto& [precision, standing] : stands) {
      names.push_back(precision);
      if (standing == "take") taken.push_back(precision);
    }
    const std::vector<ChoiceRow> choice = choice_of(question, names, {document.records, document.findings});
    if (taken.empty()) {
      EXPECT_TRUE(verdict.starts_with("No advice for ")) << verdict;
      EXPECT_FALSE(is_there(request_.recipe));
      for (const ChoiceRow& row : choice)
        EXPECT_EQ(row.standing, AimStanding::lacking) << row.name << ": " << row.words;
      return;
    }
    ASSERT_EQ(taken.size(), 1U);
    EXPECT_TRUE(verdict.starts_with(fmt::format("Take {}: ", taken[0]))) << verdict;
    for (const ChoiceRow& row : choice) {
      if (row.name == taken[0]) {
        EXPECT_TRUE(row.is_tied()) << verdict;
      } else if (row.is_tied()) {
        EXPECT_NE(verdict.find(row.name + " (" + row.words), std::string::npos) << "its figure is said: " << verdict;
      }
    }
    const Recipe best = load_recipe(request_.recipe);
    if (!taken[0].starts_with(recipe_prefix)) {
      EXPECT_EQ(std::string(best.rest->name), taken[0]);
    }
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

TEST_F(Tune, EveryUniformPrecisionIsAPointTimedAndScored) {
  request_.precisions = {"int8", "int8-weights", "int4-weights", "bf16", "fp16"};
  const Document found = document();
  const Table& points = table(found, "points");
  for (const char* precision : {"fp32", "int8", "int8-weights", "int4-weights"}) {
    const auto& row = point(found, precision);
    EXPECT_FALSE(std::holds_alternative<Absent>(cell(points, row, "kl"))) << precision;
    EXPECT_FALSE(std::holds_alternative<Absent>(cell(points, row, "time_ms"))) << precision;
  }
  EXPECT_EQ(found.sentences.front().texts[1].find("no room"), std::string::npos);
}

/// The default: joules and sizes have tests of their own.
TEST_F(Tune, TakesForLatencyWhatIntervalsDoNotTellFromBetter) {
  request_.aim = Aim::latency;
  request_.limit.most = 1e6;
  expect_sound_answer(document(), {"latency", Mode::inference});
}

TEST_F(Tune, TakesForDecodingWhatIntervalsDoNotTellFromBetter) {
  request_.aim = Aim::decode;
  request_.precisions = {"int8", "int8-weights"};
  request_.limit.most = 1e6;
  const Document found = document();
  expect_sound_answer(found, {"latency", Mode::decode});
  EXPECT_TRUE(std::any_of(found.records.begin(), found.records.end(), [](const Record& record) {
    return record.setting.mode == Mode::decode && record.setting.precision == "int8";
  }));
}

/// Each dtype of the cache is scored through it, and every mix says which it has.
TEST_F(Tune, SearchesWhatKeysAndValuesOfDecodingAreKeptIn) {
  request_.aim = Aim::decode;
  request_.precisions = {"int8-weights"};
  request_.limit.most = 1e6;
  request_.resume = folder_.path() / "state.json";
  const Document found = document();
  const Json mixes = parse_json(read_file(request_.resume, 1 << 24), "state").at("mixes");
  const auto kl_of_cache = [&](const char* kv) {
    const Recipe recipe{.name = "cache", .rest = &find_precision("fp32"), .kv = parse_dtype(kv)};
    return mixes.at(recipe_text(recipe)).at("kl").at("value").get<double>();
  };
  EXPECT_LT(kl_of_cache("f32"), 1e-9);
  EXPECT_LT(kl_of_cache("f16"), kl_of_cache("bf16"));
  EXPECT_LT(kl_of_cache("bf16"), kl_of_cache("s8"));
  std::size_t timed = 0;
  for (const Record& record : found.records) {
    if (!record.setting.precision.starts_with(recipe_prefix)) continue;
    ++timed;
    EXPECT_NE(record.setting.recipe.value().find("kv = "), std::string::npos) << *record.setting.recipe;
  }
  EXPECT_GT(timed, 0U);
}

/// Rows with padding go through no cache here.
TEST_F(Tune, RefusesPaddedRowsWhereDecodingIsTheAim) {
  request_.aim = Aim::decode;
  std::vector<std::uint8_t> mask(rows * seq, 1);
  mask.front() = 0;
  write_npy(folder_.path() / "attention_mask.npy", NpyType::u8, {rows, seq}, std::as_bytes(std::span(mask)));
  try {
    document();
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ExitCode::user);
    EXPECT_NE(std::string(e.what()).find("rows with padding"), std::string::npos) << e.what();
  }
}

TEST_F(Tune, KeepsAnAccuracyThatMayDropByNoMore) {
  add_labels();
  request_.limit = {LossKind::drop, 0.001};
  const Document found = document();
  expect_sound_answer(found, {"size", Mode::inference});
  const Table& points = table(found, "points");
  for (const auto& [precision, standing] : standings(found))
    EXPECT_GE(number(cell(points, point(found, precision), "accuracy_change")), -request_.limit.most) << precision;
}

TEST_F(Tune, KeepsAPerplexityThatMayRiseByNoMore) {
  add_labels();
  request_.limit = {LossKind::perplexity, 0.002};
  const Document found = document();
  expect_sound_answer(found, {"size", Mode::inference});
  const Table& points = table(found, "points");
  for (const auto& [precision, standing] : standings(found))
    EXPECT_LE(std::expm1(number(cell(points, point(found, precision), "delta_nll"))), request_.limit.most) << precision;
}

/// What was measured until then is kept and is where the next run goes on; what is foretold to be best so far is
/// written, and said to be no more than that.
TEST_F(Tune, AnInterruptLeavesTheBestSoFar) {
  request_.limit.most = 1e6;
  request_.resume = folder_.path() / "state.json";
  std::atomic<bool> interrupted = false;
  StudyCallbacks callbacks;
  callbacks.interrupted = &interrupted;
  callbacks.progress = [&](const std::string& what, double) {
    if (what.starts_with("mix ") && what != "mix 1") interrupted = true;
  };
  const Document part = tune(request_, facts, callbacks);
  ASSERT_TRUE(interrupted) << "several rounds of mixes are tried";
  EXPECT_TRUE(part.sentences.front().texts[0].starts_with("Interrupted before anything was scored on rows that"))
      << part.sentences.front().texts[0];
  EXPECT_NE(part.sentences.front().texts[0].find("it is not checked"), std::string::npos);
  EXPECT_TRUE(part.records.empty());
  EXPECT_NO_THROW(load_recipe(request_.recipe));
  const Json kept = parse_json(read_file(request_.resume, 1 << 24), "state");
  EXPECT_GE(kept.at("mixes").size(), 4U);
  EXPECT_EQ(kept.at("costs").size(), request_.precisions.size());
  const Document whole = document();
  expect_sound_answer(whole, {"size", Mode::inference});
  const Json after = parse_json(read_file(request_.resume, 1 << 24), "state");
  for (const auto& [recipe, mix] : kept.at("mixes").items()) EXPECT_EQ(after.at("mixes").at(recipe), mix);
  EXPECT_EQ(after.at("costs"), kept.at("costs")) << "they were not measured again";
}

/// Costs come first, and are kept before a mix is tried.
TEST_F(Tune, AnInterruptOfEstimatesKeepsCostsAndErrors) {
  request_.resume = folder_.path() / "state.json";
  std::atomic<bool> interrupted = false;
  StudyCallbacks callbacks;
  callbacks.interrupted = &interrupted;
  callbacks.progress = [&](const std::string& what, double) {
    if (what.find("gradients") != std::string::npos) interrupted = true;
  };
  const Document part = tune(request_, facts, callbacks);
  EXPECT_NE(part.sentences.front().texts[0].find("no mix was found yet"), std::string::npos)
      << part.sentences.front().texts[0];
  EXPECT_FALSE(is_there(request_.recipe));
  const Json kept = parse_json(read_file(request_.resume, 1 << 24), "state");
  EXPECT_EQ(kept.at("costs").size(), request_.precisions.size());
  EXPECT_FALSE(kept.at("errors").empty());
  EXPECT_TRUE(kept.at("estimated").empty()) << "they were not through";
  std::vector<std::string> done;
  callbacks.interrupted = nullptr;
  callbacks.progress = [&](const std::string& what, double) { done.push_back(what); };
  tune(request_, facts, callbacks);
  EXPECT_TRUE(std::none_of(done.begin(), done.end(), [](const std::string& what) {
    return what.find("error of") != std::string::npos || what.find("costs, round") != std::string::npos;
  })) << "of rows that had them";
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
  expect_sound_answer(found, {"size", Mode::inference});
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
  EXPECT_TRUE(is_said("energy of whole runs in 6 windows of")) << "fp32 and both rows, two of each, said before";
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

/// fp32, a row that is faster and a mix that is faster still, all within the limit.
class ChosenPoint : public testing::Test {
 protected:
  ChosenPoint() {
    add_point("fp32", 150, {0});
    add_point("int8", 30, {0.004, Interval{0.003, 0.005}});
    add_point("recipe:mix-1", 20, {0.009, Interval{0.008, 0.0095}});
    tuning_.points.back().is_mix = true;
  }

  void add_point(const std::string& precision, double ms, const Change& kl) {
    TunePoint point{precision, {precision, &find_precision("int8")}};
    point.held_out = UnitQuality{.kl = kl};
    tuning_.points.push_back(std::move(point));
    Record record = made_up_record(precision, ms);
    if (precision != "fp32") record = compared(record, 150 / ms, 0, 0);
    record.energy.made().energy_j = ms / 10;
    record.energy.made().energy_uncertainty_j = ms / 200;
    record.energy.made().energy_status = {EnergyState::metered, "RAPL: package-0"};
    timed_.records.push_back(std::move(record));
  }
  Record& record(std::size_t point) { return timed_.records[point]; }
  /// Over processes the mix takes 0.75 to 1.15 times what int8 does.
  void leave_open() {
    for (std::size_t process = 0; process < 5; ++process) {
      for (std::size_t round = 0; round < 8; ++round)
        record(2).latency.made().raw_ms[process * 8 + round] = 30 * (0.75 + 0.1 * static_cast<double>(process));
    }
    record(2).latency.made().median_ms = 28.5;
  }
  std::string told() {
    tuning_.answer = answer_of(tuning_, timed_);
    describe(tuning_, timed_);
    return timed_.sentences.front().texts.front();
  }

  Tuning tuning_;
  Document timed_;
};

TEST_F(ChosenPoint, IsTheBestWhereIntervalsTellItFromAllOthers) {
  const std::string verdict = told();
  EXPECT_TRUE(verdict.starts_with("Take recipe:mix-1: 20.0 ms, 7.50x fp32's speed (KL 0.009")) << verdict;
  EXPECT_NE(verdict.find("The best uniform precision that keeps it: int8, 30.0 ms"), std::string::npos) << verdict;
  EXPECT_EQ(verdict.find("Not settled"), std::string::npos) << verdict;
  EXPECT_EQ(tuning_.answer.reason, TakenFor::figure);
}

TEST_F(ChosenPoint, OfWhatIntervalsDoNotTellApartLosesLeast) {
  leave_open();
  const std::string verdict = told();
  EXPECT_TRUE(verdict.starts_with("Take int8: 30.0 ms")) << verdict << ": the median of the other lies lower";
  EXPECT_NE(verdict.find("Not settled between recipe:mix-1 (28.5 ms) and int8 (30.0 ms, "), std::string::npos)
      << verdict;
  EXPECT_NE(verdict.find("the interval contains 1): int8 loses less than the others."), std::string::npos) << verdict;
}

TEST_F(ChosenPoint, IsAMixWhereThatIsToldToLoseLess) {
  leave_open();
  tuning_.points[2].held_out->kl = {0.001, Interval{0.0005, 0.0015}};
  EXPECT_TRUE(told().starts_with("Take recipe:mix-1: ")) << timed_.sentences.front().texts.front();
  EXPECT_EQ(tuning_.answer.reason, TakenFor::less_loss);
}

TEST_F(ChosenPoint, IsAUniformPrecisionWhereLossesAreNotToldApartEither) {
  leave_open();
  tuning_.points[2].held_out->kl = {0.0039, Interval{0.003, 0.005}};
  const std::string verdict = told();
  EXPECT_TRUE(verdict.starts_with("Take int8: ")) << verdict;
  EXPECT_EQ(tuning_.answer.reason, TakenFor::simpler);
  EXPECT_NE(verdict.find("int8 is one precision"), std::string::npos) << verdict;
}

TEST_F(ChosenPoint, IsNoneThatProvesNothing) {
  const auto taken_with = [&](const std::function<void(Record&)>& change) {
    const Record whole = record(2);
    change(record(2));
    const std::string verdict = told();
    record(2) = whole;
    EXPECT_TRUE(verdict.starts_with("Take int8: ")) << verdict;
    return verdict.substr(verdict.find("Not chosen from: "));
  };
  EXPECT_EQ(taken_with([](Record& row) { row.outcome = {Status::impossible, "faster than its peak"}; }),
            "Not chosen from: recipe:mix-1 (impossible: faster than its peak).");
  EXPECT_EQ(taken_with([](Record& row) { row.grade = {Trust::d, {"D at best: others used 60 %"}}; }),
            "Not chosen from: recipe:mix-1 (grade D at best: others used 60 %).");
  EXPECT_EQ(taken_with([](Record& row) { row.setting.precision = "recipe:another"; }),
            "Not chosen from: recipe:mix-1 (not measured).");
  const Setting& setting = record(2).setting;
  timed_.findings = {{.rule = "nothing_changed",
                      .model = setting.model,
                      .batch = setting.batch,
                      .seq = setting.seq,
                      .precision = "recipe:mix-1",
                      .severity = Severity::high}};
  EXPECT_EQ(taken_with([](Record&) {}),
            "Not chosen from: recipe:mix-1 (the finding nothing_changed stands against it).");
}

/// How busy the machine was says nothing of them.
TEST_F(ChosenPoint, OfBytesIsChosenWhateverTimesAreWorth) {
  tuning_.aim = Aim::bytes;
  record(2).memory.made().model_bytes = 100'000'000;
  for (Record& row : timed_.records) row.grade = {Trust::d, {"D at best: others used 60 %"}};
  EXPECT_TRUE(told().starts_with("Take recipe:mix-1: 100 MB of weights")) << timed_.sentences.front().texts.front();
}

TEST_F(ChosenPoint, OfJoulesIsTheThriftiestWhateverTimeSays) {
  tuning_.aim = Aim::energy;
  record(1).energy.made().energy_j = 1;
  record(1).energy.made().energy_uncertainty_j = 0.02;
  const std::string verdict = told();
  EXPECT_TRUE(verdict.starts_with("Take int8: 1.00 J a sequence, 0.07 of fp32's")) << verdict;
}

TEST_F(ChosenPoint, JoulesWhoseBoundsOverlapAreNotSettled) {
  tuning_.aim = Aim::energy;
  record(1).energy.made().energy_j = 2.05;
  const std::string verdict = told();
  EXPECT_TRUE(verdict.starts_with("Take int8: 2.05 J a sequence")) << verdict;
  EXPECT_NE(verdict.find("Not settled between recipe:mix-1 (2.00 J) and int8 (2.05 J, "), std::string::npos) << verdict;
}

TEST_F(ChosenPoint, JoulesInDoubtAreNotChosenFrom) {
  tuning_.aim = Aim::energy;
  record(2).energy.made().energy_conflict = "two meters differ";
  const std::string verdict = told();
  EXPECT_TRUE(verdict.starts_with("Take int8: ")) << verdict;
  EXPECT_NE(verdict.find("recipe:mix-1 (two meters differ)"), std::string::npos) << verdict;
}

TEST_F(ChosenPoint, WithoutJoulesThereIsNoAdvice) {
  tuning_.aim = Aim::energy;
  for (Record& one : timed_.records)
    one.energy.made() = {.energy_status = {EnergyState::no_meter, "the counter stood still"}};
  const std::string verdict = told();
  EXPECT_FALSE(tuning_.answer.taken.has_value());
  EXPECT_EQ(recipe_to_take(tuning_), nullptr);
  EXPECT_TRUE(verdict.starts_with("No advice for energy")) << verdict;
  EXPECT_NE(verdict.find("fp32 (no meter: the counter stood still)"), std::string::npos) << verdict;
}

// ---- rows that are left out of the search ----

WholeRow whole_row(const char* name, double cost, double kl) {
  return {name, cost, Change{kl, Interval{0.9 * kl, 1.1 * kl}}};
}

TEST(TuneRows, ThatTakeLittleMoreThanAnotherStayInTheSearch) {
  const std::vector<WholeRow> rows = {whole_row("bf16", 100, 1e-5), whole_row("int8", 95, 1e-2),
                                      whole_row("int8-group", 91, 1e-3), whole_row("fp16", 109, 1e-6)};
  for (const std::string& reason : reasons_against(rows, 100, Aim::latency)) EXPECT_EQ(reason, "");
}

TEST(TuneRows, ThatTakeClearlyMoreAndLoseMoreAreLeftOut) {
  const std::vector<WholeRow> rows = {whole_row("bf16", 60, 1e-5), whole_row("int8", 70, 1e-2),
                                      whole_row("int4", 120, 1e-1), whole_row("fp16", 60, 1.05e-5)};
  const std::vector<std::string> reasons = reasons_against(rows, 100, Aim::latency);
  EXPECT_EQ(reasons[0], "");
  EXPECT_EQ(reasons[1], "bf16 is faster and loses less");
  EXPECT_EQ(reasons[2], "no faster than fp32");
  EXPECT_EQ(reasons[3], "");
}

TEST(TuneRows, WhoseLossIsNotToldFromAnothersStayInTheSearch) {
  std::vector<WholeRow> rows = {whole_row("int8", 50, 1e-2), whole_row("int8-group", 80, 1.1e-2)};
  EXPECT_EQ(reasons_against(rows, 100, Aim::latency)[1], "") << "their intervals overlap";
  rows[1].kl = Change{1};
  EXPECT_EQ(reasons_against(rows, 100, Aim::latency)[1], "") << "without an interval nothing is known";
  rows[1].kl.reset();
  EXPECT_EQ(reasons_against(rows, 100, Aim::latency)[1], "");
}

/// No two runs differ in them.
TEST(TuneRows, AreToldApartByBytesHoweverFew) {
  const std::vector<WholeRow> rows = {whole_row("int8-weights", 100, 1e-3), whole_row("int8", 100, 1e-2),
                                      whole_row("int8-group", 101, 1e-2), whole_row("fp16", 200, 1e-6)};
  const std::vector<std::string> reasons = reasons_against(rows, 200, Aim::bytes);
  EXPECT_EQ(reasons[0], "");
  EXPECT_EQ(reasons[1], "int8-weights is as small and loses less");
  EXPECT_EQ(reasons[2], "int8-weights is smaller and loses less");
  EXPECT_EQ(reasons[3], "no smaller than fp32");
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
