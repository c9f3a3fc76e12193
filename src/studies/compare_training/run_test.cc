#include "studies/compare_training/run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "base/testing.h"
#include "hardware/machine.h"

namespace assay {
namespace {

CompareTrainingRequest request_for(const std::filesystem::path& tokens) {
  CompareTrainingRequest request;
  TrainRequest& training = request.training;
  training.model = ASSAY_SOURCE_DIR "/tests/fixtures/models/cs336";
  training.tokens = tokens;
  training.steps = 60;
  training.training.optimizer.learning_rate = 3e-2;
  request.precisions = {"fp32", "bf16", "fp16"};
  return request;
}

std::string four_rows() {
  Json rows = Json::array();
  for (int row = 0; row < 4; ++row) {
    Json ids = Json::array();
    for (int i = 0; i < 24; ++i) ids.push_back((i * i * 7 + i * 3 + row * 5) % 97);
    rows.push_back(ids);
  }
  return Json{{"input_ids", rows}}.dump();
}

bool any_starts_with(const std::vector<std::string>& notes, const std::string& start) {
  return std::any_of(notes.begin(), notes.end(), [&](const std::string& note) { return note.starts_with(start); });
}

/// Adam's epsilon of 1e-8 and the squares of small gradients are 0 in f16: its steps then are of any size.
TEST(CompareTraining, PureF16DoesNotLearnWherePureBf16Does) {
  const TemporaryFolder folder;
  const TrainingComparison comparison =
      compare_training(request_for(folder.file("ids.json", four_rows())), read_machine_facts(), {});
  ASSERT_EQ(comparison.precisions.size(), 3U);
  const PrecisionCurves& fp32 = comparison.precisions[0];
  EXPECT_TRUE(fp32.learned);
  EXPECT_TRUE(comparison.precisions[1].learned);
  EXPECT_FALSE(comparison.precisions[2].learned);
  EXPECT_EQ(comparison.target_loss, std::max(fp32.final_loss, comparison.precisions[1].final_loss))
      << "what does not learn sets no target";
  EXPECT_FALSE(comparison.precisions[2].seconds_to_target.has_value());
  EXPECT_TRUE(any_starts_with(comparison_notes(comparison), "fp16 fails: "));
  for (const double norm : fp32.curves.front().gradient_norm) EXPECT_GT(norm, 0) << "asked for, though none is needed";
  const Document document = to_document(comparison);
  ASSERT_EQ(document.figures.size(), 1U);
  EXPECT_EQ(document.figures[0].series.size(), 3U);
  const auto& points = document.figures[0].series[2].points;
  EXPECT_TRUE(std::any_of(points.begin(), points.end(), [](const auto& point) { return std::isnan(point.y); }))
      << "it leaves the scale of the first";
}

TEST(CompareTraining, WhatDivergesHasNoFinalLossAndIsToldAsSuch) {
  const TemporaryFolder folder;
  CompareTrainingRequest request = request_for(folder.file("ids.json", four_rows()));
  request.precisions = {"fp32", "mixed-fp16"};
  request.training.steps = 12;
  request.training.training.optimizer.kind = OptimizerKind::sgd;
  request.training.training.optimizer.learning_rate = 1e6;
  for (const OnNonfinite way : {OnNonfinite::stop, OnNonfinite::skip}) {
    request.training.nonfinite = way;
    const TrainingComparison comparison = compare_training(request, read_machine_facts(), {});
    for (const PrecisionCurves& one : comparison.precisions) {
      EXPECT_EQ(one.curves.front().diverged, way == OnNonfinite::stop) << one.precision;
      EXPECT_TRUE(one.curves.front().first_nonfinite.has_value()) << one.precision;
      if (way == OnNonfinite::skip) continue;
      EXPECT_FALSE(one.final_loss.has_value()) << one.precision;
      EXPECT_FALSE(one.learned) << one.precision;
      EXPECT_FALSE(one.seconds_to_target.has_value()) << one.precision;
      EXPECT_TRUE(any_starts_with(comparison_notes(comparison), one.precision + " fails: ")) << one.precision;
    }
    const std::string text = to_json(to_document(comparison)).dump();
    EXPECT_EQ(text.find("nan"), std::string::npos) << text;
    EXPECT_EQ(text.find("inf,"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace assay
