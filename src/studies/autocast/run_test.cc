#include "studies/autocast/run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "hardware/facts_testing.h"
#include "model/presets.h"
#include "model/testing.h"

namespace assay {
namespace {

/// dtypes of the toy's values of that kind and name; one each.
DType dtype_of(const std::vector<DtypeRow>& rows, ValueKind kind, const std::string& name) {
  for (const DtypeRow& row : rows) {
    if (row.kind == kind && row.name == name) return row.dtype;
  }
  ADD_FAILURE() << assay::name(kind) << " " << name << " is not there";
  return DType::f64;
}

TEST(Autocast, TheToyHasTheDtypesThatTheListsSay) {
  for (const auto& [precision, narrow] : {std::pair{"mixed-fp16", DType::f16}, {"mixed-bf16", DType::bf16}}) {
    SCOPED_TRACE(precision);
    const auto rows = dtype_rows(toy_step(choose_precision(precision, "", std::nullopt), Fusion::off));
    EXPECT_EQ(dtype_of(rows, ValueKind::activation, "fc1"), narrow);
    EXPECT_EQ(dtype_of(rows, ValueKind::activation, "relu"), narrow);
    EXPECT_EQ(dtype_of(rows, ValueKind::activation, "ln"), DType::f32);
    EXPECT_EQ(dtype_of(rows, ValueKind::logits, "fc2"), narrow);
    EXPECT_EQ(dtype_of(rows, ValueKind::loss, "loss"), DType::f32);
    for (const char* parameter : {"fc1.weight", "ln.weight", "ln.bias", "fc2.weight"}) {
      EXPECT_EQ(dtype_of(rows, ValueKind::parameter, parameter), DType::f32) << parameter;
      EXPECT_EQ(dtype_of(rows, ValueKind::gradient, std::string("grad.") + parameter), DType::f32) << parameter;
    }
    const auto of_kind = [&](ValueKind kind) {
      return std::count_if(rows.begin(), rows.end(), [&](const DtypeRow& row) { return row.kind == kind; });
    };
    EXPECT_EQ(of_kind(ValueKind::parameter), 4) << "the linears have no biases";
    EXPECT_EQ(of_kind(ValueKind::activation), 3);
  }
}

TEST(Autocast, TheToyRuns) {
  for (const char* precision : {"mixed-fp16", "mixed-bf16"}) {
    SCOPED_TRACE(precision);
    const PrecisionChoice choice = choose_precision(precision, "", std::nullopt);
    const ToyRun run = run_toy(toy_step(choice, Fusion::off), choice, two_thread_facts(), 1);
    EXPECT_NEAR(run_toy(toy_step(choice, Fusion::on), choice, two_thread_facts(), 1).loss, run.loss, 1e-3) << "fused";
    EXPECT_GT(run.loss, 0);
    EXPECT_LT(run.loss, 20);
    EXPECT_EQ(run.figures.size(), 5U) << "logits and four gradients";
    for (const ToyRun::Figure& figure : run.figures) {
      EXPECT_TRUE(std::isfinite(figure.largest)) << figure.name;
      EXPECT_GT(figure.largest, 0) << figure.name;
    }
  }
}

TEST(Autocast, TheListsArePyTorchsOnCuda) {
  const AutocastLists lists = autocast_lists();
  const auto has = [](const std::vector<std::string>& list, const char* operation) {
    return std::find(list.begin(), list.end(), operation) != list.end();
  };
  for (const char* operation : {"linear", "attention_scores", "attention_context", "attention"})
    EXPECT_TRUE(has(lists.cast_down, operation)) << operation;
  for (const char* operation : {"layer_norm", "rms_norm", "softmax", "cross_entropy"})
    EXPECT_TRUE(has(lists.kept_in_f32, operation)) << operation;
  for (const char* operation : {"activation", "add"}) EXPECT_TRUE(has(lists.widest, operation)) << operation;
}

TEST(Autocast, AModelIsToldAsOneLayerWithCounts) {
  AutocastRequest request;
  request.model = ASSAY_SOURCE_DIR "/tests/fixtures/models/gpt2";
  request.precisions = {"mixed-bf16"};
  request.seconds = 0.02;
  const AutocastResult result = autocast_result(request, two_thread_facts);
  const auto& rows = result.tables.at(0).rows;
  const std::int64_t layers = open_model(request.model, {}).config.layers;
  const auto found = std::find_if(rows.begin(), rows.end(), [](const DtypeRow& row) {
    return row.kind == ValueKind::activation && row.name == "layers.*.ln1";
  });
  ASSERT_NE(found, rows.end()) << result.model;
  EXPECT_EQ(found->count, layers);
  EXPECT_EQ(found->dtype, DType::f32);
  EXPECT_EQ(result.costs.norms, 2 * layers + 1);
  ASSERT_EQ(result.costs.rows.size(), 3U);
  EXPECT_EQ(result.costs.rows[1].precision, "fp16[norm=f16]");
  for (const NormCost& row : result.costs.rows) EXPECT_GT(row.time_ms.median, 0) << row.precision;
  const OrderedJson json = to_json(to_document(result));
  EXPECT_EQ(json["schema"], "assay-autocast-1");
  EXPECT_EQ(json["tables"].size(), 1U);
}

TEST(Autocast, WhatIsNoAutocastIsRefused) {
  AutocastRequest request;
  request.precisions = {"bf16"};
  EXPECT_NE(user_error_of([&] { autocast_result(request, two_thread_facts); }).find("bf16"), std::string::npos);
  request.precisions = {"mixed-fp16"};
  request.model = "nosuch-model";
  EXPECT_NE(user_error_of([&] { autocast_result(request, two_thread_facts); }).find("nosuch-model"), std::string::npos);
}

}  // namespace
}  // namespace assay
