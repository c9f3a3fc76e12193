#include "studies/profile/run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/json.h"
#include "hardware/facts_testing.h"
#include "program/operation.h"

namespace assay {
namespace {

/// The request at the small GPT-2 of the fixtures, four rounds.
ProfileStudy small_study(ProfileRequest request) {
  request.model = ASSAY_SOURCE_DIR "/tests/fixtures/models/gpt2";
  request.extent = {2, 16};
  request.rounds = 4;
  MachineFacts facts = two_thread_facts();
  return profile_study(request, facts);
}

EngineOptions unfused() {
  EngineOptions engine;
  engine.fusion = Fusion::off;
  return engine;
}

TEST(Profile, EveryStepOfThePlanIsTracedAndTheProgramsNodesAreAccountedFor) {
  const ProfileStudy s = small_study({.mode = RunMode::train, .engine = unfused()});
  for (const Profile* profile : {&s.profile, &*s.inference}) {
    const NodeCounts& c = profile->counts;
    EXPECT_EQ(c.steps, static_cast<std::int64_t>(profile->steps.size()));
    EXPECT_EQ(c.nodes, c.steps + c.windows + c.constant + c.unwanted);
    EXPECT_EQ(profile->typical_run.size(), profile->steps.size());
    EXPECT_GE(profile->rounds, 2);
  }
  EXPECT_EQ(s.inference->counts.unwanted, 0) << "a forward pass wants every operation of its program";
  const auto of = [&](const Operation& operation) {
    return std::count_if(s.inference->steps.begin(), s.inference->steps.end(),
                         [&](const ProfiledStep& step) { return step.operation == operation.name; });
  };
  EXPECT_EQ(of(op::softmax), 2) << "one a layer";
  EXPECT_EQ(of(op::attention_scores), 2);
}

TEST(Profile, RowsSumToTheStepsHoweverTheyAreGrouped) {
  const ProfileStudy s = small_study({});
  for (const StepName& name : {StepName([](const ProfiledStep& step) { return step.operation; }),
                               StepName([](const ProfiledStep& step) { return folded(step.path); }),
                               StepName([](const ProfiledStep& step) { return step.kernel; })}) {
    double ms = 0;
    double flops = 0;
    std::int64_t calls = 0;
    for (const ProfileRow& row : rows_by(s.profile.steps, name, s.facts)) {
      ms += row.ms;
      flops += row.flops;
      calls += row.calls;
    }
    double all_flops = 0;
    for (const ProfiledStep& step : s.profile.steps) all_flops += step.flops;
    EXPECT_NEAR(ms, s.profile.steps_ms(), 1e-9 * ms);
    EXPECT_NEAR(flops, all_flops, 1e-9 * flops);
    EXPECT_EQ(calls, static_cast<std::int64_t>(s.profile.steps.size()));
  }
}

TEST(Profile, AmdahlPartsSumToTheWhole) {
  const ProfileStudy s = small_study({.precision = "bf16", .against = "fp32"});
  double part_sum = 0;
  double share_sum = 0;
  for (const AmdahlPart& part : amdahl(*s.against, s.profile)) {
    part_sum += part.part;
    share_sum += part.share;
  }
  EXPECT_NEAR(share_sum, 1, 1e-9);
  EXPECT_NEAR(part_sum, s.profile.steps_ms() / s.against->steps_ms(), 1e-9);
}

TEST(Profile, TimesByRatesGiveTheVerdict) {
  MachineFacts facts;
  facts.bandwidth_gbs = 10;
  MatmulPeak peak;
  peak.operand = DType::f32;
  peak.matmul_gflops = 100;
  facts.peaks = {peak};
  const auto bound = [&](double flops, double bytes) {
    ProfiledStep step;
    step.operation = "linear";
    step.flops = flops;
    step.bytes = bytes;
    step.ms = 1;
    return std::string(verdict(rows_by({step}, [](const ProfiledStep& one) { return one.operation; }, facts).front()));
  };
  EXPECT_EQ(bound(8e7, 1e6), "compute-bound") << "80 of 100 GFLOP/s, 1 of 10 GB/s";
  EXPECT_EQ(bound(1e7, 9e6), "memory-bound");
  EXPECT_EQ(bound(1e7, 1e6), "overhead-bound");
  facts = {};
  EXPECT_EQ(bound(8e7, 1e6), "unknown") << "nothing was measured";
}

TEST(Profile, LayersFoldByNumber) {
  EXPECT_EQ(folded("layers.11.attn.q_proj"), "layers.*.attn.q_proj");
  EXPECT_EQ(folded("head"), "head");
}

TEST(Profile, EveryOperationButElementwiseOnesHasAKind) {
  EXPECT_EQ(kind_of(op::linear_weight_gradient), OperationKind::matmul);
  EXPECT_EQ(kind_of(op::softmax), OperationKind::attention);
  EXPECT_EQ(kind_of(op::add_rms_norm), OperationKind::norm);
  EXPECT_EQ(kind_of(op::adamw), OperationKind::optimizer);
  EXPECT_EQ(kind_of(op::cast), OperationKind::casts);
  EXPECT_EQ(kind_of(op::add), OperationKind::other);
}

TEST(Profile, TracesAreChromeEventsThatNestWithTheRangesOfAttention) {
  const ProfileStudy s = small_study({.engine = unfused()});
  const OrderedJson trace = trace_json(s);
  std::size_t kernels = 0;
  std::set<std::string> names;
  for (const OrderedJson& event : trace["traceEvents"]) {
    names.insert(event["name"].get<std::string>());
    if (event["ph"] != "X") continue;
    EXPECT_GE(event["dur"].get<double>(), 0);
    EXPECT_EQ(event["cat"], "forward");
    kernels += event.contains("args") ? 1 : 0;
  }
  EXPECT_EQ(kernels, s.profile.steps.size());
  for (const char* range :
       {"scaled dot product attention", "computing attention scores", "computing softmax", "final matmul", "layers.1"})
    EXPECT_EQ(names.count(range), 1U) << range;
}

TEST(Profile, TheStudysQuestionsAreAnsweredFromTheData) {
  const ProfileStudy s =
      small_study({.precision = "bf16", .against = "fp32", .mode = RunMode::train, .engine = unfused()});
  std::string all;
  for (const std::string& paragraph : profile_sentences(s)) all += paragraph + "\n";
  for (const char* words : {"The forward pass", "In the whole step", "Besides matrix products", "full step with AdamW",
                            "Softmax against the two", "5 an element", "bf16 against fp32", "Tracing"})
    EXPECT_NE(all.find(words), std::string::npos) << words;
}

}  // namespace
}  // namespace assay
