#include "studies/attention/run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "hardware/facts_testing.h"
#include "model/testing.h"
#include "studies/shared/engine.h"

namespace assay {
namespace {

AttentionRequest small_attention_request() {
  AttentionRequest request;
  request.batch = 2;
  request.head_dims = {8};
  request.seqs = {12};
  request.repetitions = 7;
  request.seconds = 2;
  return request;
}

/// y and the three gradients of one method in f32.
std::vector<Tensor> results_of(const AttentionShape& shape, const char* precision, const char* device) {
  const PrecisionChoice choice = choose_precision(precision, "", std::nullopt);
  const MachineFacts machine = two_thread_facts();
  AttentionStep step(attention_program(shape, choice), choice, find_backend(device), machine, {2, 19}, std::nullopt);
  step.fill(7);
  step.plan().run();
  std::vector<Tensor> results;
  for (const char* output : {"y", "grad.q", "grad.k", "grad.v"}) results.push_back(step.plan().output_f32(output));
  return results;
}

double largest_difference(const Tensor& a, const Tensor& b) {
  double largest = 0;
  double magnitude = 0;
  for (std::int64_t i = 0; i < a.count(); ++i) {
    largest = std::max(largest, std::abs(static_cast<double>(a.as<float>()[i]) - b.as<float>()[i]));
    magnitude = std::max(magnitude, std::abs(static_cast<double>(b.as<float>()[i])));
  }
  return largest / magnitude;
}

TEST(Attention, NaiveAndFusedAgreeInValueAndGradient) {
  for (const bool causal : {false, true}) {
    for (const auto& [precision, tolerance] : {std::pair{"fp32", 1e-5}, {"bf16", 4e-2}, {"fp16", 5e-3}}) {
      SCOPED_TRACE(precision);
      const auto naive = results_of({AttentionMethod::naive, 3, 8, causal}, precision, "reference");
      const auto fused = results_of({AttentionMethod::fused, 3, 8, causal}, precision, "cpu");
      for (std::size_t i = 0; i < naive.size(); ++i)
        EXPECT_LE(largest_difference(fused[i], naive[i]), tolerance) << "result " << i << ", causal " << causal;
    }
  }
}

TEST(Attention, NaiveSavesTheMatrixAndFusedDoesNot) {
  const PrecisionChoice fp32 = choose_precision("fp32", "", std::nullopt);
  const Extent extent{8, 1024};
  const std::int64_t tensor = 8 * 1024 * 2 * 16 * 4;
  const std::int64_t matrix = std::int64_t{8} * 2 * 1024 * 1024 * 4;
  const auto naive = attention_memory(attention_program({AttentionMethod::naive, 2, 16, false}, fp32), extent);
  const auto fused = attention_memory(attention_program({AttentionMethod::fused, 2, 16, false}, fp32), extent);
  EXPECT_EQ(naive.saved_bytes, 3 * tensor + matrix);
  EXPECT_EQ(naive.before_backward_bytes, 4 * tensor + matrix);
  EXPECT_EQ(fused.saved_bytes, 3 * tensor);
  EXPECT_GE(naive.peak_bytes, 6 * tensor + 2 * matrix) << "p and its gradient live at once";
  EXPECT_LT(fused.peak_bytes, matrix);
}

TEST(Attention, MeasuresBothPhasesOfBothMethods) {
  AttentionRequest request = small_attention_request();
  request.precisions = {"fp32", "bf16"};
  const AttentionResult result = attention_cells(request, two_thread_facts, {});
  ASSERT_EQ(result.cells.size(), 4U);
  for (const AttentionCell& cell : result.cells) {
    ASSERT_EQ(cell.status, Status::ok) << cell.reason;
    ASSERT_TRUE(cell.forward && cell.backward);
    EXPECT_EQ(cell.forward->samples, 7U);
    EXPECT_GT(cell.backward->median, 0) << "timed, never subtracted";
    EXPECT_TRUE(cell.forward->interval.has_value());
    EXPECT_FALSE(cell.backward_record.evidence.ledger.empty());
  }
}

TEST(Attention, WhatDoesNotFitIsARowWithItsFigures) {
  AttentionRequest request = small_attention_request();
  request.batch = 8;
  request.seqs = {16384};
  const auto little = [] {
    MachineFacts machine = two_thread_facts();
    machine.available_bytes = 20'000'000;
    return machine;
  };
  const AttentionResult result = attention_cells(request, little, {});
  const AttentionCell& naive = result.cells.at(0);
  EXPECT_EQ(naive.status, Status::oom);
  EXPECT_EQ(naive.available_bytes, 20'000'000);
  EXPECT_GE(naive.memory.peak_bytes, std::int64_t{2} * 8 * 16384 * 16384 * 4);
  EXPECT_NE(naive.reason.find("17.2 GB are needed, 20.0 MB are available"), std::string::npos) << naive.reason;
  EXPECT_LT(result.cells.at(1).memory.peak_bytes, naive.memory.peak_bytes / 100) << "fused";
}

TEST(Attention, ACellBeyondTheBudgetIsToldFromASmallerOne) {
  AttentionRequest request = small_attention_request();
  request.seqs = {1 << 16, 12};  // in any order
  request.seconds = 0.05;
  request.repetitions = 2;
  const auto much = [] {
    MachineFacts machine = two_thread_facts();
    machine.available_bytes = std::int64_t{1} << 50;
    return machine;
  };
  const AttentionResult result = attention_cells(request, much, {});
  ASSERT_EQ(result.cells.size(), 4U);
  EXPECT_EQ(result.cells[0].extent.seq, 12);
  for (const std::size_t i : {2U, 3U}) {
    EXPECT_EQ(result.cells[i].status, Status::too_slow) << result.cells[i].reason;
    EXPECT_NE(result.cells[i].reason.find("GFLOP/s of head_dim 8, 12 tokens"), std::string::npos)
        << result.cells[i].reason;
  }
}

TEST(Attention, WithoutASmallerCellAShortStepTellsTheRate) {
  AttentionRequest request = small_attention_request();
  request.seqs = {1 << 16};
  request.seconds = 0.2;
  const auto much = [] {
    MachineFacts machine = two_thread_facts();
    machine.available_bytes = std::int64_t{1} << 50;
    return machine;
  };
  for (const AttentionCell& cell : attention_cells(request, much, {}).cells) {
    EXPECT_EQ(cell.status, Status::too_slow);
    EXPECT_NE(cell.reason.find("GFLOP/s of head_dim 8, 128 tokens"), std::string::npos) << cell.reason;
  }
}

TEST(Attention, ThePowerOfAPowerLawIsFound) {
  EXPECT_NEAR(*fitted_exponent({{1, 3}, {2, 12}, {10, 300}}), 2, 1e-12);
  EXPECT_FALSE(fitted_exponent({{5, 1}}).has_value());
  EXPECT_FALSE(fitted_exponent({}).has_value());
}

TEST(Attention, NotesSayHowMemoryGrowsAndWhatRemovesIt) {
  AttentionRequest request = small_attention_request();
  request.seqs = {16, 64};
  const std::vector<std::string> notes = attention_notes(attention_cells(request, two_thread_facts, {}));
  std::string all;
  for (const std::string& note : notes) all += note + "\n";
  EXPECT_NE(all.find("Saved for the backward by fused attention in fp32 grows as T^1.00 at head_dim 8"),
            std::string::npos)
      << all;
  EXPECT_NE(all.find("What removes it"), std::string::npos) << all;
  EXPECT_NE(all.find("Time against FLOPs"), std::string::npos) << all;
}

TEST(Attention, ARequestThatCannotBeIsRefusedInWords) {
  AttentionRequest request = small_attention_request();
  request.precisions = {"int8"};
  EXPECT_NE(user_error_of([&] { attention_cells(request, two_thread_facts, {}); }).find("int8"), std::string::npos);
  request.precisions = {"fp31"};
  EXPECT_NE(user_error_of([&] { attention_cells(request, two_thread_facts, {}); }).find("fp31"), std::string::npos);
  request = small_attention_request();
  request.seqs = {0};
  EXPECT_NE(user_error_of([&] { attention_cells(request, two_thread_facts, {}); }).find("--seq 0"), std::string::npos);
}

}  // namespace
}  // namespace assay
