#include "studies/sensitivity/run.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "formats/npy.h"
#include "formats/testing.h"
#include "hardware/machine.h"
#include "model/random_weights.h"
#include "model/testing.h"
#include "studies/sensitivity/alone.h"
#include "studies/sensitivity/energy.h"
#include "studies/shared/energy_testing.h"

namespace assay {
namespace {

/// A small language model on made-up rows of ids, on a machine without 16-bit products: rows of 8 bits compute in f32.
class Sensitivity : public testing::Test {
 protected:
  static constexpr std::int64_t rows = 8;
  static constexpr std::int64_t seq = 16;

  Sensitivity() {
    std::vector<std::int32_t> ids;
    ids.reserve(rows * seq);
    for (std::int32_t i = 0; i < rows * seq; ++i) ids.push_back((i * 31 + i * i * 7) % 60 + 1);
    write_npy(folder_.path() / "input_ids.npy", NpyType::s32, {rows, seq}, std::as_bytes(std::span(ids)));
    request_.models = {ASSAY_SOURCE_DIR "/tests/fixtures/models/llama-tied"};
    request_.data = {folder_.path()};
    request_.tokens = 1 << 20;
    request_.layer_seconds = 0.01;
    request_.energy.meters.name = "none";
  }

  std::vector<ModelSensitivity> studies(const StudyCallbacks& callbacks = {}) const {
    return sensitivity_of(
        request_, [] { return read_machine_facts({.max_isa = "avx2", .threads = 2, .root = "/"}); }, callbacks);
  }
  ModelSensitivity study() const { return studies().front(); }

  TemporaryFolder folder_;
  SensitivityRequest request_;
};

TEST_F(Sensitivity, ThatOfEverythingIsThePlainPrecisions) {
  request_.precisions = {"int8"};
  request_.estimates = Estimates::left_out;
  const ModelSensitivity s = study();
  const UnitRow* whole = s.find("everything", "int8");
  ASSERT_NE(whole, nullptr);
  EXPECT_GT(whole->only->kl.value, 0);
  ASSERT_TRUE(whole->only->kl.interval.has_value());
  EXPECT_GT(whole->only->kl.interval->high, whole->only->kl.value);
  EXPECT_FALSE(whole->all_but.has_value()) << "nothing is left";

  request_.by = {"role"};
  request_.precisions = {"fp32"};
  request_.engine.overrides = "*=int8";
  const ModelSensitivity again = study();
  EXPECT_EQ(again.find("everything", "fp32[*=int8]")->only->kl.value, whole->only->kl.value);
}

TEST_F(Sensitivity, InFp32IsExactlyZero) {
  request_.precisions = {"fp32"};
  for (const UnitRow& row : study().rows_by_unit) {
    EXPECT_EQ(row.only->kl.value, 0) << row.unit.name;
    EXPECT_EQ(row.only->delta_nll->value, 0) << row.unit.name;
    if (row.all_but) {
      EXPECT_EQ(row.all_but->kl.value, 0) << row.unit.name;
    }
    if (!row.unit.is_linear()) continue;
    EXPECT_FALSE(row.error->snr_db.has_value()) << row.unit.name << ": no noise at all";
    EXPECT_EQ(row.estimate ? row.estimate->fisher : 0, 0);
  }
}

TEST_F(Sensitivity, UnitsAreTheLayersBlocksAndRolesOfTheModel) {
  request_.precisions = {"int8"};
  const ModelSensitivity s = study();
  for (const char* unit : {"layers.0.attn.q_proj", "layers.1.mlp.down_proj", "layers.1", "@attention", "@mlp", "@norm",
                           "@embedding", "@head", "embeddings", "everything"}) {
    EXPECT_NE(s.find(unit, "int8"), nullptr) << unit;
  }
  EXPECT_EQ(s.find("@loss", "int8"), nullptr);
  double ms = 0;
  for (const UnitRow& row : s.rows_by_unit) ms += row.unit.kind == UnitKind::layer ? row.cost->fp32_ms : 0;
  const UnitRow& whole = *s.find("everything", "int8");
  EXPECT_LT(ms, whole.cost->fp32_ms) << "norms and attention take time too";
  EXPECT_LT(whole.cost->low_bytes, 0.5 * whole.cost->fp32_bytes);
}

TEST(SensitivityUnits, WhatIsMadeOnceOfWeightsAloneIsNoLayerOfARun) {
  const Model model = open_model(ASSAY_SOURCE_DIR "/tests/fixtures/models/deberta-tokens", {});
  int once = 0;
  for (const ModelUnit& unit : units_of(build_program(model.config, {}), {UnitKind::layer})) {
    if (unit.kind != UnitKind::layer) continue;  // Everything is a unit, too.
    const bool is_once = unit.name.find(".distance_") != std::string::npos;
    once += is_once ? 1 : 0;
    EXPECT_EQ(unit.is_linear(), !is_once && unit.name != "embeddings") << unit.name;
  }
  EXPECT_EQ(once, 2) << "keys alone score distances, in each of two layers";
}

TEST_F(Sensitivity, ALayerOverExpertsIsOneUnit) {
  for (const char* model : {"mixtral", "qwen3-moe"}) {
    request_.models = {ASSAY_SOURCE_DIR "/tests/fixtures/models/" + std::string(model)};
    request_.precisions = {"int8-weights"};
    request_.by = {"layer"};
    request_.gradient_rows = rows;
    const ModelSensitivity s = study();
    for (const char* name : {"layers.0.mlp.router", "layers.0.mlp.experts.gate_proj", "layers.0.mlp.experts.up_proj",
                             "layers.0.mlp.experts.down_proj"}) {
      const UnitRow* row = s.find(name, "int8-weights");
      ASSERT_NE(row, nullptr) << name;
      EXPECT_GT(row->only->kl.value, 0) << name;
      ASSERT_TRUE(row->error && row->error->weight_snr_db && row->estimate) << name;
      EXPECT_GT(*row->error->weight_snr_db, 30) << name;
      EXPECT_GT(*row->error->snr_db, 30) << name;
      EXPECT_LT(row->cost->low_bytes, row->cost->fp32_bytes) << name;
      // An error of the router may choose other experts, which no gradient foretells.
      if (row->unit.weights.size() == 1) continue;
      EXPECT_GT(row->estimate->fisher, row->only->kl.value / 10) << name;
      EXPECT_LT(row->estimate->fisher, row->only->kl.value * 10) << name;
    }
  }
}

TEST_F(Sensitivity, GradientsEstimateWhatAWeightsErrorDoes) {
  request_.precisions = {"int8-weights"};  // Activations stay as they are: the estimates know nothing else.
  request_.by = {"layer"};
  request_.gradient_rows = rows;
  std::vector<double> estimated;
  std::vector<double> measured;
  for (const UnitRow& row : study().rows_by_unit) {
    EXPECT_EQ(row.estimate.has_value(), row.unit.is_linear() && row.unit.name != "head") << "its table is tied";
    if (!row.estimate) continue;
    EXPECT_NEAR(row.estimate->first_order, row.only->delta_nll->value,
                0.2 * std::abs(row.only->delta_nll->value) + 2e-5)
        << row.unit.name;
    EXPECT_GT(row.estimate->fisher, row.only->kl.value / 5) << row.unit.name;
    EXPECT_LT(row.estimate->fisher, row.only->kl.value * 5) << row.unit.name;
    estimated.push_back(row.estimate->fisher);
    measured.push_back(row.only->kl.value);
  }
  const auto correlation = rank_correlation(estimated, measured);
  ASSERT_TRUE(correlation && correlation->interval);
  EXPECT_GT(correlation->value, 0.7);
}

TEST_F(Sensitivity, IsTakenOverFromAnEarlierFile) {
  request_.precisions = {"int8"};
  request_.by = {"role"};
  const std::vector<ModelSensitivity> first = studies();
  const std::filesystem::path file = folder_.path() / "earlier.json";
  write_file_atomically(file, to_json(to_document(first, {})).dump());
  request_.resume = file;
  request_.by = {"role", "block"};
  const ModelSensitivity s = study();
  EXPECT_EQ(s.restored, static_cast<std::int64_t>(first[0].rows_by_unit.size()));
  for (const UnitRow& row : first[0].rows_by_unit)
    EXPECT_EQ(s.find(row.unit.name, "int8")->only->kl.value, row.only->kl.value) << row.unit.name;
  EXPECT_TRUE(s.find("layers.0", "int8")->only.has_value()) << "what was not there is measured";
  write_file_atomically(file, "{\"models\": 3}");
  EXPECT_THROW(study(), Error);
}

TEST_F(Sensitivity, AnInterruptKeepsWhatIsDone) {
  request_.precisions = {"int8"};
  std::atomic<bool> interrupted = false;
  StudyCallbacks callbacks;
  callbacks.interrupted = &interrupted;
  int units = 0;
  callbacks.progress = [&](const std::string&, double) { interrupted = ++units > 3; };
  const ModelSensitivity s = studies(callbacks).front();
  EXPECT_TRUE(s.is_partial);
  EXPECT_TRUE(s.find("everything", "int8")->only.has_value());
  EXPECT_FALSE(s.find("layers.0.attn.q_proj", "int8")->only.has_value());
  const std::string text = to_json(to_document({s}, {})).dump();
  EXPECT_NE(text.find("PARTIAL"), std::string::npos);
}

TEST_F(Sensitivity, EnergyOfLayersStandsBesideThatOfAWholeRun) {
  const RunningPackage package(20);
  request_.precisions = {"int8"};
  request_.by = {"layer"};
  request_.estimates = Estimates::left_out;
  request_.energy.meters.name = "rapl";
  request_.root = package.root();
  std::vector<std::string> said;
  StudyCallbacks callbacks;
  callbacks.say = [&](const std::string& sentence) { said.push_back(sentence); };
  const ModelSensitivity s = studies(callbacks).front();
  double sum_j = 0;
  int layers = 0;
  int sure = 0;
  for (const UnitRow& row : s.rows_by_unit) {
    ASSERT_EQ(row.energy.has_value(), row.unit.is_linear()) << row.unit.name;
    if (!row.energy) continue;
    EXPECT_GT(row.energy->value, 0) << row.unit.name;
    ++layers;
    sure += row.energy->uncertainty < 0.5 * row.energy->value ? 1 : 0;
    sum_j += row.energy->value;
  }
  // The made-up counter is renewed by a thread, which a busy machine keeps waiting in one window or another.
  EXPECT_GT(sure, layers / 2) << "windows were too short";
  const Joules whole = s.whole_energy.at("int8");
  EXPECT_GT(whole.value, 0);
  const std::string text = to_json(to_document({s}, {})).dump();
  EXPECT_NE(text.find(fmt::format("run alone take {:.3g} J", sum_j)), std::string::npos) << text.substr(0, 2000);
  EXPECT_NE(text.find(fmt::format("a whole run {:.3g} J", whole.value)), std::string::npos);
  EXPECT_TRUE(std::any_of(said.begin(), said.end(), [](const std::string& sentence) {
    return sentence.find("energy of 15 layers in windows of") != std::string::npos;
  })) << "how long that takes is said before";
}

TEST_F(Sensitivity, JoulesAreCostsOfFp32AndEachRowAlikeForLayersOfOneShape) {
  const RunningPackage package(2, 5);
  request_.precisions = {"int8", "int8-weights"};
  request_.by = {"layer"};
  request_.energy.meters.name = "rapl";
  const Model model = open_model(request_.models.front(), {});
  const MachineFacts machine = read_machine_facts({.max_isa = "avx2", .threads = 2, .root = "/"});
  const StudyCallbacks callbacks;
  const StudiedModel subject = studied_model(request_, model, set_for(model, request_, 0), machine, callbacks);
  ModelSensitivity study = empty_study(subject);
  const Power power = find_power(energy_on("cpu", package.root(), request_.energy));
  const QualityBatch& batch = subject.set.batches.front();
  measure_costs(subject, batch, study);
  measure_whole_energy(subject, batch, power, study);
  measure_energy_of_layers(subject, batch, power, study);
  for (const UnitRow& row : study.rows_by_unit) {
    const bool is_metered = row.unit.is_linear() || row.unit.kind == UnitKind::whole;
    EXPECT_EQ(row.cost->fp32_j > 0, is_metered) << row.unit.name;
    EXPECT_EQ(row.cost->low_j > 0, is_metered) << row.unit.name;
  }
  const auto cost = [&](const char* unit, const char* precision) { return *study.find(unit, precision)->cost; };
  EXPECT_EQ(cost("layers.0.attn.q_proj", "int8").low_j, cost("layers.1.attn.q_proj", "int8").low_j);
  EXPECT_NE(cost("layers.0.attn.q_proj", "int8").low_j, cost("layers.0.mlp.down_proj", "int8").low_j);
  EXPECT_EQ(cost("layers.0.attn.q_proj", "int8").fp32_j, cost("layers.0.attn.q_proj", "int8-weights").fp32_j);
}

TEST_F(Sensitivity, AMeterThatStopsTakesNoOtherFigureWithIt) {
  RunningPackage package(20);
  request_.precisions = {"int8"};
  request_.by = {"layer"};
  request_.energy.meters.name = "rapl";
  request_.root = package.root();
  StudyCallbacks callbacks;
  callbacks.progress = [&](const std::string& what, double) {
    if (what.find("error of layers.1") != std::string::npos) package.freeze();
  };
  const ModelSensitivity s = studies(callbacks).front();
  EXPECT_TRUE(s.whole_energy.empty());
  EXPECT_NE(s.energy_words.find("stood still"), std::string::npos) << s.energy_words;
  const UnitRow& last = *s.find("layers.1.mlp.down_proj", "int8");
  EXPECT_FALSE(last.energy.has_value());
  EXPECT_TRUE(last.only && last.error && last.estimate);
  EXPECT_NE(to_json(to_document({s}, {})).dump().find("stood still"), std::string::npos);
}

TEST_F(Sensitivity, OfTwoModelsSaysWhatDiffers) {
  request_.models.push_back(ASSAY_SOURCE_DIR "/tests/fixtures/models/llama-untied");
  request_.precisions = {"int8"};
  const std::vector<ModelSensitivity> both = studies();
  const Document document = to_document(both, {});
  std::set<std::string> keys;
  for (const Figure& figure : document.figures) {
    keys.insert(figure.key);
    EXPECT_TRUE(figure.reason.empty()) << figure.key << ": " << figure.reason;
  }
  for (const char* key : {"sensitivity_0", "sensitivity_1", "by_depth", "by_role", "shares_by_role", "outliers"})
    EXPECT_EQ(keys.count(key), 1U) << key;
  const std::string text = to_json(document).dump();
  EXPECT_NE(text.find("the role that costs most alone is @"), std::string::npos);
  EXPECT_NE(text.find("llama-untied, int8: over its layers KL "), std::string::npos);
  for (const ModelSensitivity& s : both) {
    double share = 0;
    for (const UnitRow& row : s.rows_by_unit) share += row.unit.kind == UnitKind::role ? row.cost->fp32_ms : 0;
    EXPECT_LT(share, 1.0001 * s.find("everything", "int8")->cost->fp32_ms) << "roles do not overlap";
  }
}

TEST_F(Sensitivity, ThatCannotBeIsRefused) {
  for (const auto& [models, by] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{}, "layer"}, {{ASSAY_SOURCE_DIR "/tests/fixtures/models/bert"}, "layer"}, {request_.models, "tensor"}}) {
    SensitivityRequest request = request_;
    request.models = models;
    request.by = {by};
    EXPECT_THROW(sensitivity_of(request, [] { return MachineFacts{}; }, {}), Error) << by;
  }
}

TEST(SensitivityParts, WeightsThatInt8HoldsExactlyHaveNoError) {
  Model model;
  model.config = small_gpt2();
  model.weights = random_weights(build_program(model.config, {}), model.config, 1);
  const Program built = build_program(model.config, {});
  const Node& linear = linear_at(built, "layers.0.mlp.up_proj");
  const Shape shape = model.weights.at(built.value(linear.inputs[1]).name).shape;
  model.weights.by_name.at(built.value(linear.inputs[1]).name).load = [shape] {
    WeightData data;
    data.owned = Tensor(DType::f32, shape);
    for (std::int64_t i = 0; i < data.owned.count(); ++i)
      data.owned.as<float>()[i] = static_cast<float>(i % shape[1] == 0 ? 127 : i % 100 - 50) / 64;
    data.view = data.owned.view();
    return data;
  };
  const SensitivityRequest request;
  const MachineFacts facts = read_machine_facts({.max_isa = "avx2", .threads = 2, .root = "/"});
  StudiedModel subject{request, model, facts, {}, {}, built, {}, {}, {}, nullptr, {}};
  subject.fp32 = choose_precision("fp32", "", std::nullopt);
  subject.base = subject.instance(subject.fp32, Fusion::off);
  const PrecisionChoice int8 = choose_precision("int8", "", std::nullopt);
  const auto exact = LayerAlone(subject, linear, subject.fp32, {1, 1}).stored_weight();
  EXPECT_FALSE(signal_to_noise_db(exact, LayerAlone(subject, linear, int8, {1, 1}).stored_weight()).has_value());
  const Node& other = linear_at(built, "layers.0.mlp.down_proj");
  const auto random = LayerAlone(subject, other, subject.fp32, {1, 1}).stored_weight();
  const auto noise = signal_to_noise_db(random, LayerAlone(subject, other, int8, {1, 1}).stored_weight());
  ASSERT_TRUE(noise.has_value());
  EXPECT_GT(*noise, 30);
  EXPECT_LT(*noise, 60);
}

TEST(SensitivityParts, NoiseAndOutliersOfKnownNumbers) {
  const std::vector<float> exact = {1, -1, 1, -1};
  const std::vector<float> off = {1.1F, -1, 1, -1};
  EXPECT_NEAR(*signal_to_noise_db(exact, off), 10 * std::log10(4 / 0.01), 1e-4);
  EXPECT_FALSE(signal_to_noise_db(exact, exact).has_value());
  EXPECT_DOUBLE_EQ(outliers_of(exact).kurtosis, 1) << "two values, equally often";
  EXPECT_DOUBLE_EQ(outliers_of(exact).largest_over_rms, 1);
}

TEST(SensitivityParts, CorrelationsOfFewOrOfNothingSaySo) {
  EXPECT_FALSE(rank_correlation({1, 1, 1}, {1, 2, 3}).has_value());
  EXPECT_FALSE(rank_correlation({1, 2, 3}, {1, 4, 9})->interval.has_value());
  std::vector<double> x;
  std::vector<double> alternating;
  for (int i = 0; i < 40; ++i) {
    x.push_back(i);
    alternating.push_back(i * 17 % 40);
  }
  EXPECT_NEAR(rank_correlation(x, x)->value, 1, 1e-12);
  EXPECT_LT(rank_correlation(x, alternating)->interval->low, 0);
}

}  // namespace
}  // namespace assay
