#include "runtime/plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "program/operation.h"
#include "runtime/layout.h"
#include "runtime/testing.h"

namespace assay {
namespace {

double relative_difference(const Tensor& expected, const Tensor& actual) {
  EXPECT_EQ(expected.shape(), actual.shape());
  double difference = 0;
  double magnitude = 0;
  for (std::int64_t i = 0; i < expected.count(); ++i) {
    difference = std::max(difference, std::abs(static_cast<double>(expected.as<float>()[i]) - actual.as<float>()[i]));
    magnitude = std::max(magnitude, std::abs(static_cast<double>(expected.as<float>()[i])));
  }
  return difference / magnitude;
}

TEST(Plan, FusionChangesNothingBeyondRounding) {
  const SmallModel model;
  for (const Precision& precision : precision_table()) {
    if (!runs_on(precision, "cpu") || needs_calibration(precision.scheme)) continue;
    const PrecisionChoice choice = choose_precision(precision.name, "", DType::bf16);
    const Program program = assign_dtypes(build_program(model.config, {}), choice);
    Instance apart(program, choice, model.weights, reference_backend(), model.facts);
    Instance fused(fuse(program), choice, model.weights, reference_backend(), model.facts);
    EXPECT_LT(fused.program().nodes.size(), apart.program().nodes.size()) << precision.name;
    EXPECT_LE(relative_difference(logits_of(apart, {2, 9}), logits_of(fused, {2, 9})), precision.tolerance)
        << precision.name;
  }
}

TEST(Plan, OverridesAreWrittenDownAsWhatRan) {
  const SmallModel model;
  Instance instance = model.instance("bf16", "softmax=f16,head=f32");
  const Plan plan(instance, {.extent = {1, 5}});
  const Ledger ledger = plan.ledger();
  ASSERT_EQ(ledger.inputs.size(), 1U) << "ids; no mask was promised";
  EXPECT_EQ(ledger.inputs[0].dtype, DType::s32);
  for (const LedgerRow& row : ledger.rows) {
    EXPECT_EQ(row.requested, "bf16[softmax=f16,head=f32]");
    const bool head = row.role == "head" && row.operation == "linear";
    EXPECT_TRUE(!head || row.stored == DType::f32);
    EXPECT_TRUE(row.operation != "softmax" || row.stored == DType::f16);
  }
}

TEST(Plan, RefusesWhatDoesNotFitBeforeAWeightIsRead) {
  SmallModel model;
  int reads = 0;
  for (auto& [name, weight] : model.weights.by_name) {
    weight.load = [&reads, load = weight.load] {
      ++reads;
      return load();
    };
  }
  model.facts.available_bytes = 1000;
  Instance instance = model.instance("fp32");
  try {
    const Plan plan(instance, {.extent = {1, 5}});
    FAIL() << "nothing was thrown";
  } catch (const OutOfMemory& error) {
    EXPECT_EQ(error.available_bytes, 1000);
    EXPECT_GT(error.needed_bytes, static_cast<double>(model.weights.parameters() * 4));
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
  }
  EXPECT_EQ(reads, 0);
  EXPECT_EQ(instance.resident_bytes(), 0);
}

TEST(Plan, TakesNoMoreThanItIsGranted) {
  SmallModel model;
  model.facts.available_bytes = std::int64_t{1} << 40;
  Instance instance = model.instance("fp32");
  const std::int64_t needed = Plan(instance, {.extent = {1, 5}}).arena_bytes();
  EXPECT_NO_THROW(Plan(instance, {.extent = {1, 5}, .free_bytes = needed})) << "its weights are held already";
  EXPECT_THROW(Plan(instance, {.extent = {1, 5}, .free_bytes = needed - 1}), OutOfMemory);
  EXPECT_THROW(Plan(instance, {.extent = {1, 5}, .free_bytes = -1}), OutOfMemory) << "others hold more than there was";
  model.facts.available_bytes = 1;
  EXPECT_NO_THROW(Plan(instance, {.extent = {1, 5}, .free_bytes = needed})) << "the machine's figure no longer counts";
}

TEST(Plan, PeakIsWeightsAndArena) {
  const SmallModel model;
  Instance instance = model.instance("fp32");
  const Plan plan(instance, {.extent = {2, 9}});
  EXPECT_EQ(plan.peak_bytes(), instance.resident_bytes() + plan.arena_bytes());
  EXPECT_GE(plan.arena_bytes(), 2 * 9 * 97 * 4) << "the logits at least";
}

TEST(Plan, FlopsAreThoseOfTheProgramCountedByHand) {
  const SmallModel model;
  Instance instance = model.instance("fp32");
  const Plan plan(instance, {.extent = {2, 9}});
  double linears = 0;
  for (const Step& step : plan.steps()) {
    if (step.ledger.operation == "linear") linears += step.flops;
  }
  // Two layers of q, k, v, out (32 x 32) and up, down (32 x 72), a head of 97 x 32; 18 rows, a multiply-add is two.
  EXPECT_EQ(linears, 2.0 * 18 * (2 * (4 * 32 * 32 + 2 * 32 * 72) + 97 * 32));
  EXPECT_GT(plan.flops(), linears);
}

/// x -> a = f(x) -> dx = dy W + onto, with dy = a and what is added either a too or another f(x).
Layout layout_of_gradient(bool added_to_itself) {
  const SymbolicShape shape = {dim_batch, dim_seq, dim(8)};
  Program program;
  program.values = {{"x", DType::f32, shape, Source::input, false},
                    {"W", DType::f32, {dim(8), dim(8)}, Source::weight, true},
                    {"a", DType::f32, shape, Source::computed, false},
                    {"b", DType::f32, shape, Source::computed, false},
                    {"dx", DType::f32, shape, Source::computed, false}};
  const ValueId onto = added_to_itself ? 2 : 3;
  program.inputs = {{"x", 0}};
  program.outputs = {{"logits", 4}};
  program.nodes = {{&op::activation, {0}, {2}, {}, "a"},
                   {&op::activation, {0}, {3}, {}, "b"},
                   {&op::linear_input_gradient, {2, 1, onto}, {4}, {}, "dx"}};
  return lay_out(program, {.extent = {1, 4}});
}

TEST(Layout, AResultTakesNoMemoryThatItsOwnProductStillReads) {
  const Layout apart = layout_of_gradient(false);
  EXPECT_EQ(apart.values[4].offset, apart.values[3].offset) << "what is added is read once, where it is overwritten";
  const Layout itself = layout_of_gradient(true);
  EXPECT_NE(itself.values[4].offset, itself.values[2].offset);
}

TEST(Plan, AnUnknownOutputIsAUsersMistake) {
  const SmallModel model;
  Instance instance = model.instance("fp32");
  EXPECT_NE(user_error_of([&] { Plan(instance, {.extent = {1, 2}, .outputs = {"hidden.7"}}); }).find("hidden.7"),
            std::string::npos);
}

TEST(Plan, RunsAgainAndGivesTheSame) {
  const SmallModel model;
  for (const Backend* backend : {&reference_backend(), &cpu_backend()}) {
    Instance instance = model.instance("bf16", "", *backend);
    Plan plan(instance, {.extent = {2, 9}});
    plan.set_inputs(some_ids({2, 9}), {});
    plan.run();
    const Tensor first = plan.output_f32("logits");
    plan.run();
    EXPECT_EQ(relative_difference(first, plan.output_f32("logits")), 0) << backend->name;
  }
}

TEST(Plan, TheLastPositionsLogitsAreThoseOfAllPositions) {
  const SmallModel model;
  const PrecisionChoice choice = choose_precision("fp32", "", std::nullopt);
  const Program program = assign_dtypes(build_program(model.config, {.logits = LogitRows::last}), choice);
  Instance last(fuse(program), choice, model.weights, reference_backend(), model.facts);
  Instance all = model.instance("fp32");
  const Tensor few = logits_of(last, {2, 9});
  const Tensor many = logits_of(all, {2, 9});
  ASSERT_EQ(few.shape(), (Shape{2, 97}));
  for (std::int64_t row = 0; row < 2; ++row) {
    for (std::int64_t v = 0; v < 97; ++v) {
      EXPECT_NEAR(few.as<float>()[row * 97 + v], many.as<float>()[(row * 9 + 8) * 97 + v], 1e-5);
    }
  }
}

}  // namespace
}  // namespace assay
