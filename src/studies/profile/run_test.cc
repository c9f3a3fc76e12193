#include "studies/profile/run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/json.h"
#include "hardware/facts_testing.h"
#include "program/operation.h"
#include "results/record.h"

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
  EXPECT_EQ(op::linear_weight_gradient.kind, OperationKind::matmul);
  EXPECT_EQ(op::softmax.kind, OperationKind::attention);
  EXPECT_EQ(op::add_rms_norm.kind, OperationKind::norm);
  EXPECT_EQ(op::adamw.kind, OperationKind::optimizer);
  EXPECT_EQ(op::cast.kind, OperationKind::casts);
  EXPECT_EQ(op::add.kind, OperationKind::other);
}

TEST(Profile, WhatARecordCallsAProductTheProgramDoesToo) {
  for (const Operation* operation : all_operations()) {
    LedgerRow row;
    row.operation = operation->name;
    EXPECT_EQ(operation->products != ProductShare::none, multiplies(row)) << operation->name;
    EXPECT_TRUE(operation->kind != OperationKind::matmul || operation->products == ProductShare::all)
        << operation->name;
  }
}

ProfiledStep made_up_step(ProductShare products, OperationKind kind, double ms) {
  return {.operation = products == ProductShare::none ? "softmax" : "attention_scores",
          .kind = kind,
          .products = products,
          .ms = ms};
}

MatmulPeak peak_at(DType operand, double gflops) {
  MatmulPeak peak;
  peak.operand = operand;
  peak.matmul_gflops = gflops;
  return peak;
}

TEST(Profile, ProductsOfAttentionAreProducts) {
  ProfileStudy s;
  s.profile.steps = {made_up_step(ProductShare::all, OperationKind::matmul, 70),
                     made_up_step(ProductShare::all, OperationKind::attention, 15),
                     made_up_step(ProductShare::none, OperationKind::attention, 15)};
  const std::string besides = profile_sentences(s).at(2);
  EXPECT_NE(besides.find("products, 85.0 %"), std::string::npos) << besides;
  EXPECT_NE(besides.find("softmax (15.0 %, 1 call); all of it is 15.0 %"), std::string::npos) << besides;
  EXPECT_EQ(besides.find("attention_scores"), std::string::npos) << besides;
}

TEST(Profile, WhatSpeedsUpLessThanItsPeakIsToldFromWhatDoesNot) {
  ProfileStudy s;
  s.facts.peaks = {peak_at(DType::f32, 100), peak_at(DType::bf16, 200)};
  s.against.emplace();
  s.against->precision = "fp32";
  s.against->steps = {made_up_step(ProductShare::all, OperationKind::matmul, 90),
                      made_up_step(ProductShare::none, OperationKind::norm, 10)};
  s.profile = *s.against;
  s.profile.precision = "bf16";
  s.profile.steps[0].ms = 60;
  for (Profile* profile : {&s.profile, &*s.against}) profile->steps[0].flops = 1e9;
  s.profile.steps[0].operand = DType::bf16;
  std::string all;
  for (const std::string& paragraph : profile_sentences(s)) all += paragraph + "\n";
  for (const char* words :
       {"bf16 against fp32: 1.43x", "Matrix products were 90.0 % of fp32's time and are 1.50x as fast",
        "differ by 2.00x", "Other operations were 10.0 % of fp32's time and are 1.00x as fast",
        "75.0 % of that are products that gain less", "25.0 % what speeds up less"})
    EXPECT_NE(all.find(words), std::string::npos) << words << "\n" << all;
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
                            "Softmax against the two", "5 a pair", "bf16 against fp32", "Tracing"})
    EXPECT_NE(all.find(words), std::string::npos) << words;
}

}  // namespace
}  // namespace assay
