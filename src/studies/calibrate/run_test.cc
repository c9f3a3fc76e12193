#include "studies/calibrate/run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <utility>

#include "base/error.h"
#include "base/testing.h"
#include "formats/npy.h"
#include "formats/testing.h"
#include "hardware/machine.h"
#include "model/architecture.h"
#include "program/passes.h"
#include "runtime/plan.h"
#include "studies/calibrate/places.h"
#include "tensor/tensor.h"

namespace assay {
namespace {

/// Families of the fixtures, on made-up rows of ids, on a machine without 16-bit products.
class Calibrate : public testing::TestWithParam<const char*> {
 protected:
  static constexpr std::int64_t rows = 8;
  static constexpr std::int64_t seq = 12;

  Calibrate() : facts_(read_machine_facts({.max_isa = "avx2", .threads = 2, .root = "/"})) {
    std::vector<std::int32_t> ids;
    ids.reserve(rows * seq);
    for (std::int32_t i = 0; i < rows * seq; ++i) ids.push_back((i * 17 + i / 50 * 7) % 50 + 1);  // Each of 50.
    write_npy(folder_.path() / "input_ids.npy", NpyType::s32, {rows, seq}, std::as_bytes(std::span(ids)));
    request_.data = folder_.path();
  }

  static Model model_of(const std::string& family) {
    return open_model(ASSAY_SOURCE_DIR "/tests/fixtures/models/" + family, {});
  }

  Tensor logits(const Model& model, const std::string& precision) const {
    const auto instance = make_instance(model, precision, request_.engine, facts_);
    Plan plan(*instance, {.extent = {1, seq}});
    std::vector<std::int32_t> ids;
    ids.reserve(seq);
    for (std::int32_t i = 0; i < seq; ++i) ids.push_back(i * 5 % 50 + 1);
    plan.set_inputs(ids, {});
    plan.run();
    return plan.output_f32("logits");
  }

  /// Of all parameters in int8.
  std::int64_t stored_bytes(const Model& model) const {
    const auto instance = make_instance(model, "int8", request_.engine, facts_);
    const Plan plan(*instance, {.extent = {1, seq}});
    return instance->model_bytes();
  }

  TemporaryFolder folder_;
  MachineFacts facts_;
  CalibrationRequest request_;
};

double relative_difference(const Tensor& exact, const Tensor& other) {
  double largest = 0;
  double difference = 0;
  for (std::int64_t i = 0; i < exact.count(); ++i) {
    largest = std::max(largest, std::abs(static_cast<double>(exact.as<float>()[i])));
    difference = std::max(difference, std::abs(static_cast<double>(exact.as<float>()[i]) - other.as<float>()[i]));
  }
  return difference / largest;
}

/// Root of the mean square of the difference: the largest of a few random logits is a matter of luck.
double distance(const Tensor& exact, const Tensor& other) {
  double sum = 0;
  for (std::int64_t i = 0; i < exact.count(); ++i) {
    const double difference = static_cast<double>(exact.as<float>()[i]) - other.as<float>()[i];
    sum += difference * difference;
  }
  return std::sqrt(sum / static_cast<double>(exact.count()));
}

TEST_P(Calibrate, FactorsLeaveTheFunctionWhatItIs) {
  const Model model = model_of(GetParam());
  const Calibration calibration = calibrate(model, request_, facts_, {});
  for (auto& [name, change] : *calibration.changes) {
    change.added.clear();
    change.codes = {};
  }
  Model changed = model;
  const CalibratedWeights made = calibrated_weights(model, calibration);
  changed.weights = made.weights;
  changed.config = made.config;
  EXPECT_LT(relative_difference(logits(model, "fp32"), logits(changed, "fp32")), 1e-4);
}

/// As good as rounding to nearest, place by place and in the end.
TEST_P(Calibrate, CodesWithFeedbackErrLess) {
  const Model model = model_of(GetParam());
  const Calibration calibration = calibrate(model, request_, facts_, {});
  EXPECT_TRUE(std::any_of(calibration.places.begin(), calibration.places.end(),
                          [](const CalibratedPlace& place) { return place.is_fed_back; }));
  for (const CalibratedPlace& place : calibration.places) EXPECT_LE(place.error_after, 1.001 * place.error_before);
  Model calibrated = model;
  calibrated.calibrated["int8"] = std::make_shared<CalibratedWeights>(calibrated_weights(model, calibration));
  const Tensor exact = logits(model, "fp32");
  EXPECT_LT(distance(exact, logits(calibrated, "int8")), 1.1 * distance(exact, logits(model, "int8")));
}

using CalibrateTiedHead = Calibrate;

/// A tied head gets factors, which are taken out of the final norm and not out of the embedding.
TEST_F(CalibrateTiedHead, HasATableOfItsOwn) {
  Model model = model_of("llama-tied");
  ASSERT_TRUE(model.config.tied_head);
  const auto gain = std::make_shared<WeightChanges>();
  std::vector<float> outlier(static_cast<std::size_t>(model.config.d_model), 1.0F);
  outlier[1] = 100;
  (*gain)["norm.weight"].by_row = outlier;  // What the head reads is hard to round to 8 bits.
  model.weights = changed_weights(model.weights, gain);
  const Calibration calibration = calibrate(model, request_, facts_, {});
  ASSERT_EQ(calibration.head, HeadTable::own);
  EXPECT_FALSE(calibration.changes->at("lm_head.weight").by_column.empty());
  EXPECT_FALSE(calibration.changes->contains("embed_tokens.weight")) << "the embedding stays as it was";
  EXPECT_LT(calibration.places.back().error_after, 0.5 * calibration.places.back().error_before);

  const Tensor exact = logits(model, "fp32");
  const double before = relative_difference(exact, logits(model, "int8"));
  const std::int64_t bytes = stored_bytes(model);
  model.calibrated["int8"] = std::make_shared<CalibratedWeights>(calibrated_weights(model, calibration));
  EXPECT_LT(relative_difference(exact, logits(model, "int8")), 0.7 * before);
  const std::int64_t table = model.config.vocab_size * (model.config.d_model + 4);  // s8 and a scale a row
  EXPECT_EQ(stored_bytes(model), bytes + table) << "and is counted";
  EXPECT_EQ(relative_difference(exact, logits(model, "fp32")), 0) << "what quantises nothing is as it was";
}

/// In a row that leaves the head as it is there is nothing to gain by a second table.
TEST_F(CalibrateTiedHead, StaysTiedWhereItIsNotQuantised) {
  const Model model = model_of("llama-tied");
  request_.engine.overrides = "@head=fp32";
  EXPECT_EQ(calibrate(model, request_, facts_, {}).head, HeadTable::shared);
  request_.engine.overrides = "head=f32";
  EXPECT_EQ(calibrate(model, request_, facts_, {}).head, HeadTable::shared);
}

INSTANTIATE_TEST_SUITE_P(Families, Calibrate,
                         testing::Values("llama-tied", "gpt2", "bert-classifier", "gemma3", "modernbert-masked"));

using CalibrateNorms = Calibrate;

/// Gains that are 1 + parameter, and norms without a bias: what stands behind them can be smoothed as behind any norm.
TEST_F(CalibrateNorms, FindsEveryNormSmoothable) {
  for (const char* family : {"llama-tied", "gemma3", "modernbert-masked"}) {
    const std::vector<LinearPlace> places = linear_places(build_program(model_of(family).config, {}));
    const auto behind_norms = std::ranges::count_if(places, [](const LinearPlace& place) {
      return place.is_smoothable && std::ranges::all_of(place.divided, [](const DividedParameter& parameter) {
               return parameter.name.find("norm") != std::string::npos;
             });
    });
    EXPECT_GE(behind_norms, 2) << family;
  }
}

using CalibrateOutliers = Calibrate;

/// A channel that is a hundred times as large, and whose weights are a hundredth: the same function, harder in 8 bits.
TEST_F(CalibrateOutliers, AreTakenOutOfActivations) {
  const Model model = model_of("llama-tied");
  const std::vector<LinearPlace> places = linear_places(build_program(model.config, {}));
  ASSERT_FALSE(places.empty());
  const auto planted = std::make_shared<WeightChanges>();
  std::vector<float> larger(static_cast<std::size_t>(places[0].rows), 1.0F);
  larger[1] = 100;
  std::vector<float> smaller = larger;
  smaller[1] = 0.01F;
  (*planted)[places[0].divided.front().name].by_row = larger;
  for (const std::string& matrix : places[0].matrices) (*planted)[matrix].by_column = smaller;
  Model harder = model;
  harder.weights = changed_weights(model.weights, planted);
  const Calibration calibration = calibrate(harder, request_, facts_, {});
  EXPECT_TRUE(calibration.places[0].is_smoothed);
  EXPECT_LT(calibration.places[0].error_after, 0.25 * calibration.places[0].error_before);

  const Tensor exact = logits(harder, "fp32");
  const double before = relative_difference(exact, logits(harder, "int8"));
  harder.calibrated["int8"] = std::make_shared<CalibratedWeights>(calibrated_weights(harder, calibration));
  EXPECT_LT(relative_difference(exact, logits(harder, "int8")), 0.5 * before);
  EXPECT_EQ(relative_difference(exact, logits(harder, "fp32")), 0) << "what quantises nothing is as it was";
}

using CalibrateStatic = Calibrate;

/// The programs of static scales on the machine and by the reference's loops, and how far both are from fp32.
TEST_P(CalibrateStatic, MultipliesByItsScales) {
  Model model = model_of(GetParam());
  request_.precision = "int8-static";
  const Calibration calibration = calibrate(model, request_, facts_, {});
  ASSERT_NE(calibration.scales, nullptr);
  for (const CalibratedPlace& place : calibration.places) EXPECT_NE(place.scale.method, std::string()) << place.name;
  EXPECT_NE(calibration.words.find("static scales"), std::string::npos);
  EXPECT_THROW(logits(model, "int8-static"), Error) << "before it is calibrated";
  model.calibrated["int8-static"] = std::make_shared<CalibratedWeights>(calibrated_weights(model, calibration));
  const Tensor exact = logits(model, "fp32");
  const Tensor fused = logits(model, "int8-static");
  EXPECT_LT(relative_difference(exact, fused), 0.5) << "of a random model of two layers, whose tokens differ by far";
  EXPECT_GT(relative_difference(exact, fused), 1e-5) << "something was rounded";
  request_.engine.device = "reference";
  request_.engine.fusion = Fusion::off;
  EXPECT_LT(relative_difference(logits(model, "int8-static"), fused), 0.05);
}

INSTANTIATE_TEST_SUITE_P(Families, CalibrateStatic, testing::Values("llama-tied", "gpt2", "bert-classifier"));

/// Each place's scale is judged by the layers' own outputs: one that is doubled or halved serves worse.
TEST_F(CalibrateStatic, ScalesAreNearTheBest) {
  Model model = model_of("llama-tied");
  request_.precision = "int8-static";
  const Calibration calibration = calibrate(model, request_, facts_, {});
  const Tensor exact = logits(model, "fp32");
  const auto error_with = [&](double factor) {
    CalibratedWeights calibrated = calibrated_weights(model, calibration);
    ActivationScales scales = *calibrated.scales;
    for (auto& [path, scale] : scales) scale *= factor;
    calibrated.scales = std::make_shared<ActivationScales>(scales);
    model.calibrated["int8-static"] = std::make_shared<CalibratedWeights>(std::move(calibrated));
    return relative_difference(exact, logits(model, "int8-static"));
  };
  const double found = error_with(1);
  EXPECT_LT(found, error_with(4));
  EXPECT_LT(found, error_with(0.25));
}

}  // namespace
}  // namespace assay
