#include "studies/quantize/run.h"

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/testing.h"
#include "formats/npy.h"
#include "hardware/machine.h"
#include "runtime/plan.h"

namespace assay {
namespace {

/// A model whose head has a matrix of its own, on a machine without 16-bit products.
class QuantizeCalibrated : public testing::Test {
 protected:
  QuantizeCalibrated() : facts_(read_machine_facts({.max_isa = "avx2", .threads = 2, .root = "/"})) {
    std::vector<std::int32_t> ids;
    ids.reserve(96);
    for (std::int32_t i = 0; i < 96; ++i) ids.push_back((i * 17 + i / 50 * 7) % 50 + 1);
    write_npy(data_.path() / "input_ids.npy", NpyType::s32, {8, 12}, std::as_bytes(std::span(ids)));
    request_.model = ASSAY_SOURCE_DIR "/tests/fixtures/models/llama-untied";
    request_.precision = "int8";
    request_.engine.overrides = "@embedding=bf16";
  }

  std::string written(const char* name) {
    request_.out = place_.path() / name;
    std::string words;
    for (const std::string& sentence : quantize(request_, facts_)) words += sentence + "\n";
    return words;
  }

  std::vector<float> logits(const std::string& model, const std::string& precision) const {
    const Model opened = open_model(model, {});
    const auto instance = make_instance(opened, precision, request_.engine, facts_);
    Plan plan(*instance, {.extent = {1, 8}});
    plan.set_inputs(std::vector<std::int32_t>{3, 1, 4, 1, 5, 9, 2, 6}, {});
    plan.run();
    const Tensor found = plan.output_f32("logits");
    return {found.as<float>(), found.as<float>() + found.count()};
  }

  double distance(const std::vector<float>& a, const std::vector<float>& b) const {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * static_cast<double>(a[i] - b[i]);
    return sum;
  }

  TemporaryFolder data_;
  TemporaryFolder place_;
  MachineFacts facts_;
  QuantizeRequest request_;
};

TEST_F(QuantizeCalibrated, WhatIsWrittenHasItsCodesAndSaysSo) {
  written("plain");
  request_.calibration = data_.path();
  EXPECT_NE(written("calibrated").find("codes with error feedback"), std::string::npos);
  const std::vector<float> plain = logits((place_.path() / "plain").string(), "int8");
  const std::vector<float> calibrated = logits((place_.path() / "calibrated").string(), "int8");
  EXPECT_GT(distance(plain, calibrated), 0);
  // In f32 the file's values are the codes': nearer to the model than rounding activations too, and not the model.
  const std::vector<float> exact = logits(request_.model, "fp32");
  const std::vector<float> values = logits((place_.path() / "calibrated").string(), "fp32");
  EXPECT_LT(distance(exact, values), 0.01 * distance(exact, std::vector<float>(exact.size())));
}

/// A head that was tied is written with the codes of its own table, and read back with the very logits.
TEST_F(QuantizeCalibrated, ATiedHeadIsWrittenApart) {
  request_.model = ASSAY_SOURCE_DIR "/tests/fixtures/models/llama-tied";
  request_.calibration = data_.path();
  const std::string words = written("apart");
  const Model read = open_model((place_.path() / "apart").string(), {});
  const bool is_own = words.find("a table of its own") != std::string::npos;
  ASSERT_TRUE(is_own) << words;
  EXPECT_FALSE(read.config.tied_head);
  EXPECT_TRUE(read.weights.by_name.contains("lm_head.weight"));
  const std::vector<float> exact = logits(request_.model, "fp32");
  const std::vector<float> values = logits((place_.path() / "apart").string(), "fp32");
  EXPECT_LT(distance(exact, values), 0.01 * distance(exact, std::vector<float>(exact.size())));
}

TEST_F(QuantizeCalibrated, IsRefusedWhereNothingTakesIt) {
  request_.calibration = data_.path();
  request_.precision = "bf16";
  EXPECT_EQ(user_error_of([&] { written("bf16"); }), "--calibrate: bf16 takes no calibration, int8 does");
  request_.precision = "int8-static";
  EXPECT_TRUE(user_error_of([&] { written("static"); }).starts_with("int8-static: "));
}

}  // namespace
}  // namespace assay
