#include "studies/profile/gpu_kernels.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "studies/profile/run.h"

namespace assay {
namespace {

constexpr const char* update_name =
    "_ZN5assay4cuda12run_elementsINS0_45_GLOBAL__N__e4818048_12_optimizer_cc_d42b64c06UpdateINS2_8AdamRuleELNS_"
    "5DTypeE1EEEEEvT_l";

TEST(KernelNames, AreDemangledWithoutTypesOfResultAndParameters) {
  EXPECT_EQ(short_kernel_name(update_name), "run_elements<Update<AdamRule, (DType)1> >");
  EXPECT_EQ(short_kernel_name("_Z3addPKfPf"), "add");
  EXPECT_EQ(short_kernel_name("_ZN7cutlass7Kernel2I12cutlass_tileEEvNT_6ParamsE"), "cutlass::Kernel2<cutlass_tile>");
  EXPECT_EQ(short_kernel_name("sm90_xmma_gemm_bf16_tn_kernel__5x_cublas"), "sm90_xmma_gemm_bf16_tn_kernel__5x_cublas");
  EXPECT_EQ(short_kernel_name("b"), "b") << "no type";
  EXPECT_EQ(short_kernel_name(""), "");
}

/// Step 0 launches "a" and "b" (begun in the other order than recorded), step 1 "a" twice; one kernel is nobody's.
RecordedKernels made_up(std::uint64_t shift_ns) {
  RecordedKernels recorded;
  recorded.kernels = {{7, "b", 3000, 6000 + shift_ns},
                      {6, "a", 1000, 2000},
                      {8, "a", 9000, 9500},
                      {9, "a", 10000, 10500 + shift_ns},
                      {44, "stray", 500, 600}};
  recorded.marks = {{6, 1}, {7, 1}, {8, 2}, {9, 2}, {10, 2}};
  return recorded;
}

TEST(GpuKernels, BelongToTheStepWhoseMarkTheirCallCarries) {
  const KernelRun run = kernel_run(made_up(0), 2);
  ASSERT_EQ(run.spans.size(), 4U);
  EXPECT_EQ(run.unmarked, 1);
  EXPECT_EQ(run.spans[0].name, "a");
  EXPECT_EQ(run.spans[0].step, 0U);
  EXPECT_DOUBLE_EQ(run.spans[0].begin_us, 0.5);
  EXPECT_EQ(run.spans[1].name, "b");
  EXPECT_DOUBLE_EQ(run.spans[1].end_us - run.spans[1].begin_us, 3);
  EXPECT_EQ(run.spans[3].step, 1U);
}

TEST(GpuKernels, OfAMarkBeyondTheStepsBelongToNone) {
  EXPECT_EQ(kernel_run(made_up(0), 1).unmarked, 3);
  EXPECT_EQ(kernel_run({}, 3).spans.size(), 0U);
}

TEST(GpuKernels, AreSummedByStepAndNameInMediansOverRuns) {
  const GpuKernels kernels =
      summarise_kernels({kernel_run(made_up(0), 2), kernel_run(made_up(1000), 2), kernel_run(made_up(70000), 2)}, 2);
  ASSERT_TRUE(kernels.present());
  ASSERT_EQ(kernels.steps.size(), 2U);
  ASSERT_EQ(kernels.steps[0].size(), 2U);
  EXPECT_EQ(kernels.steps[0][0].name, "a");
  EXPECT_NEAR(kernels.steps[0][1].ms, 0.004, 1e-12) << "3, 4 and 73 us";
  ASSERT_EQ(kernels.steps[1].size(), 1U);
  EXPECT_EQ(kernels.steps[1][0].count, 2);
  EXPECT_EQ(kernels.launches(0), 2);
  EXPECT_NEAR(kernels.step_ms(1), 0.002, 1e-12) << "two of 0.5 us, 1 us longer in the median run";
  EXPECT_EQ(kernels.last.unmarked, 3) << "one a run";
  const std::vector<GpuKernel> by_name = kernels_by_name(kernels);
  ASSERT_EQ(by_name.size(), 2U);
  EXPECT_EQ(by_name[0].name, "b") << "4 us, a 3 us";
  EXPECT_EQ(by_name[1].count, 3);
}

TEST(GpuKernels, ThatSomeRunsLackCountAsNoTimeThere) {
  RecordedKernels without = made_up(0);
  std::erase_if(without.kernels, [](const KernelRecord& kernel) { return kernel.name == "b"; });
  const GpuKernels kernels =
      summarise_kernels({kernel_run(made_up(0), 2), kernel_run(without, 2), kernel_run(without, 2)}, 2);
  EXPECT_EQ(kernels.steps[0][1].ms, 0);
  EXPECT_EQ(kernels.steps[0][1].count, 1);
}

/// Says that every marked step launched a kernel named after it, of as many us as its place.
class MadeUpRecording final : public KernelRecording {
 public:
  void begin(std::uint64_t mark) override {
    EXPECT_EQ(open_, 0U) << "marks do not nest";
    open_ = mark;
    records_.marks.push_back({next_, mark});
    records_.kernels.push_back({next_, "kernel", 1000 * next_, 1000 * (next_ + mark)});
    ++next_;
  }
  void end() override { open_ = 0; }
  RecordedKernels take() override { return std::exchange(records_, {}); }

 private:
  RecordedKernels records_;
  std::uint32_t next_ = 1;
  std::uint64_t open_ = 0;
};

TEST(GpuKernels, OfPlansAreRecordedStepByStep) {
  ProfileRequest request;
  request.model = ASSAY_SOURCE_DIR "/tests/fixtures/models/gpt2";
  const Model model = open_model(request.model, request.model_options);
  MachineFacts facts;
  facts.threads = 1;
  const auto instance = make_instance(model, "fp32", {}, facts);
  Plan plan(*instance, PlanOptions{{1, 4}, false, {"logits"}});
  EXPECT_FALSE(gpu_kernels({&plan}).has_value()) << "a plan on the host has none";
  const std::vector<std::int32_t> ids = {1, 2, 3, 4};
  plan.set_inputs(ids, {});
  MadeUpRecording recording;
  const GpuKernels kernels = record_plans({&plan, &plan}, recording, 3);
  ASSERT_EQ(kernels.steps.size(), 2 * plan.steps().size());
  EXPECT_EQ(kernels.runs, 3);
  for (std::size_t i = 0; i < kernels.steps.size(); ++i) {
    ASSERT_EQ(kernels.steps[i].size(), 1U);
    EXPECT_NEAR(kernels.step_ms(i), 1e-3 * static_cast<double>(i + 1), 1e-9);
  }
}

Profile two_steps_on_a_gpu() {
  Profile profile;
  profile.steps.resize(2);
  profile.steps[0].path = "h.0";
  profile.steps[0].operation = "linear";
  profile.steps[1].path = "h.1";
  profile.steps[1].operation = "add";
  profile.typical_run = {{0, 1}, {1, 3}};
  profile.gpu = summarise_kernels({kernel_run(made_up(0), 2)}, 2);
  return profile;
}

TEST(GpuKernels, StandInTheDocumentAndInTheTrace) {
  ProfileStudy study;
  study.profile = two_steps_on_a_gpu();
  const OrderedJson json = to_json(to_document(study));
  const OrderedJson& gpu = json["profile"]["gpu"];
  EXPECT_EQ(gpu["kernels"].size(), 2U);
  EXPECT_EQ(gpu["unmarked"], 1);
  EXPECT_EQ(json["profile"]["steps"][0]["gpu_kernels"].size(), 2U);
  int on_gpu = 0;
  const OrderedJson trace = trace_json(study);
  for (const OrderedJson& event : trace["traceEvents"]) on_gpu += event["ph"] == "X" && event["pid"] == 2 ? 1 : 0;
  EXPECT_EQ(on_gpu, 4);
}

TEST(GpuKernels, ThatAreAbsentSayWhy) {
  ProfileStudy study;
  study.profile = two_steps_on_a_gpu();
  study.profile.gpu = GpuKernels{"libcupti.so.13 was not found", 0, {}, {}};
  EXPECT_EQ(to_json(to_document(study))["profile"]["gpu"]["absent"], "libcupti.so.13 was not found");
  study.profile.gpu.reset();
  EXPECT_FALSE(to_json(to_document(study))["profile"].contains("gpu"));
}

TEST(GpuKernels, AreRecordedOrItIsSaidWhyNot) {
  if (cuda_backend().absent == nullptr) GTEST_SKIP() << "a build with CUDA: tools/gpu-check profiles on a GPU";
  const auto recording = record_kernels();
  EXPECT_EQ(std::get<std::string>(recording), cuda_backend().absent);
}

}  // namespace
}  // namespace assay
