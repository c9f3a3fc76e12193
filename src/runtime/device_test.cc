#include "tensor/device.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "runtime/cold_caches.h"
#include "runtime/guarded_device_testing.h"
#include "runtime/testing.h"
#include "runtime/trace.h"

namespace assay {
namespace {

TEST(DeviceMemory, APlanOnItGivesWhatTheHostGives) {
  const SmallModel model;
  for (const char* precision : {"fp32", "bf16", "mixed-bf16", "int8"}) {
    Instance host = model.instance(precision);
    Instance device = model.instance(precision, "", guarded_backend());
    const Tensor right = logits_of(host, {2, 9});
    const Tensor found = logits_of(device, {2, 9});
    for (std::int64_t i = 0; i < right.count(); ++i) ASSERT_EQ(right.as<float>()[i], found.as<float>()[i]) << precision;
    EXPECT_EQ(host.resident_bytes(), device.resident_bytes()) << precision;
  }
}

TEST(DeviceMemory, HoldsAllThatAnInstanceCounts) {
  const SmallModel model;
  for (const char* precision : {"fp32", "mixed-bf16"}) {
    const std::int64_t before = guarded().bytes();
    Instance device = model.instance(precision, "", guarded_backend());
    logits_of(device, {1, 3});
    EXPECT_EQ(guarded().bytes() - before, device.resident_bytes()) << precision;
  }
}

TEST(DeviceMemory, AStateThatTheDeviceRefusesIsNotHalfThere) {
  State state(guarded());
  guarded().refuses = true;
  EXPECT_THROW(state.memory("w", DType::f32, {3}), OutOfMemory);
  guarded().refuses = false;
  EXPECT_FALSE(state.holds("w"));
  state.memory("w", DType::f32, {3});
  EXPECT_EQ(*state.find("w")->as<float>(), 0);
}

TEST(DeviceMemory, IsGivenBackWithItsInstance) {
  const std::size_t before = guarded().blocks();
  {
    const SmallModel model;
    Instance device = model.instance("fp32", "", guarded_backend());
    logits_of(device, {1, 3});
    EXPECT_GT(guarded().blocks(), before);
  }
  EXPECT_EQ(guarded().blocks(), before);
}

TEST(DeviceMemory, ARunEndsWhenTheDeviceIsIdleAndATraceWaitsForEachStep) {
  const SmallModel model;
  Instance device = model.instance("fp32", "", guarded_backend());
  Plan plan(device, {.extent = {1, 3}});
  plan.set_inputs(some_ids({1, 3}), {});
  const auto waits_of = [](const auto& work) {
    const int before = guarded().waits;
    work();
    return guarded().waits - before;
  };
  EXPECT_EQ(waits_of([&] { plan.enqueue(); }), 0);
  EXPECT_EQ(waits_of([&] { plan.run(); }), 1);
  std::vector<StepTime> times(plan.steps().size());
  EXPECT_EQ(waits_of([&] { run_traced(plan, times); }), static_cast<int>(times.size()));
}

TEST(Graphs, RunFromTheSecondRunOnAndGiveTheSameForNewInputs) {
  guarded().records = true;
  const SmallModel model;
  const Extent extent = {2, 5};
  Instance device = model.instance("bf16", "", guarded_backend());
  Plan recorded(device, {.extent = extent});
  Plan plain(device, {.extent = extent, .graphs = Graphs::off});
  std::vector<std::int32_t> ids = some_ids(extent);
  for (int run = 0; run < 4; ++run) {
    std::swap(ids[0], ids[static_cast<std::size_t>(run)]);
    const auto ranges_of = [&](Plan& plan) {
      guarded().ranges.clear();
      plan.set_inputs(ids, {});
      plan.run();
      return guarded().ranges.size();
    };
    const std::size_t steps = plain.steps().size();
    EXPECT_EQ(ranges_of(plain), steps) << "every step has its range, in every run";
    EXPECT_EQ(ranges_of(recorded), run < 2 ? steps : 0U) << "run, recorded, and then queued as a whole";
    EXPECT_TRUE(recorded.is_recorded());
    const Tensor right = plain.output_f32("logits");
    const Tensor found = recorded.output_f32("logits");
    for (std::int64_t i = 0; i < right.count(); ++i) ASSERT_EQ(right.as<float>()[i], found.as<float>()[i]) << run;
  }
  for (const Phase phase : {Phase::forward, Phase::backward, Phase::forward, Phase::backward}) recorded.run(phase);
  EXPECT_TRUE(recorded.is_recorded()) << "a phase without steps is nothing to record";
  guarded().records = false;
  Plan refused(device, {.extent = extent});
  refused.set_inputs(ids, {});
  for (int run = 0; run < 3; ++run) refused.run();
  EXPECT_FALSE(refused.is_recorded());
  EXPECT_EQ(refused.why_not_recorded(), "the device has no memory for it");
}

TEST(Graphs, ThatADeviceCannotMakeAreSaidAndDoneWithout) {
  guarded().records = true;
  static int times = 0;  // Of this test in one process: a reason is told once in its life.
  const std::string why = "a pretended library may not be recorded, time " + std::to_string(++times);
  guarded().recording_fault = why;
  const SmallModel model;
  const Extent extent = {2, 5};
  Instance device = model.instance("fp32", "", guarded_backend());
  Plan plan(device, {.extent = extent});
  Plan plain(device, {.extent = extent, .graphs = Graphs::off});
  Plan again(device, {.extent = extent});
  testing::internal::CaptureStderr();
  for (Plan* const one : {&plan, &plain, &again}) {
    one->set_inputs(some_ids(extent), {});
    for (int run = 0; run < 3; ++run) one->run();
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "assay: kernels are queued one by one, not as a graph: " + why + "\n")
      << "once for all plans, and not where no graph was asked for";
  guarded().records = false;
  guarded().recording_fault.clear();
  EXPECT_FALSE(plan.is_recorded());
  EXPECT_EQ(plan.why_not_recorded(), why);
  EXPECT_EQ(plain.why_not_recorded(), "");
  const Tensor right = plain.output_f32("logits");
  const Tensor found = plan.output_f32("logits");
  for (std::int64_t i = 0; i < right.count(); ++i) ASSERT_EQ(right.as<float>()[i], found.as<float>()[i]);
}

TEST(ColdCaches, WriteTwiceAsMuchAsTheCachesHold) {
  MachineFacts facts;
  facts.caches = {{.level = 2, .bytes = 3000, .shared_by_cores = 1, .instances = 2}, {.level = 3, .bytes = 5000}};
  const std::int64_t before = guarded().bytes();
  ColdCaches caches(guarded(), facts);
  EXPECT_EQ(guarded().bytes() - before, 22000);
  caches.empty();
  ColdCaches on_host(host_device(), facts);
  on_host.empty();
  for (std::size_t line = 0; line + 64 <= on_host.memory().size(); line += 64)
    ASSERT_EQ(on_host.memory()[line], std::byte{1}) << line;
}

TEST(DeviceMemory, OfAStateIsSeenByTheHostAsCopies) {
  State state(guarded());
  const Shape shape = {3};
  std::byte* memory = state.memory("w", DType::f32, shape);
  EXPECT_EQ(*state.at("w", DType::f32, shape).as<float>(), 0) << "a state starts with zeros";
  state.at("w", DType::f32, shape).as<float>()[2] = 5;
  state.store("w");
  EXPECT_EQ(state.find("w")->as<float>()[2], 5);
  const float seven[] = {7, 7, 7};
  guarded().upload(memory, std::as_bytes(std::span(seven)).data(), sizeof(seven));  // as a kernel would
  EXPECT_EQ(state.tensors().at("w").as<float>()[2], 7);
  state.clear("w");
  EXPECT_EQ(state.find("w")->as<float>()[2], 0);
  EXPECT_EQ(state.bytes(), 12);
}

TEST(DeviceMemory, TheFirstValueOfAnOutputIsThatOfTheWholeOne) {
  const SmallModel model;
  Instance device = model.instance("bf16", "", guarded_backend());
  Plan plan(device, {.extent = {1, 3}});
  plan.set_inputs(some_ids({1, 3}), {});
  plan.run();
  EXPECT_EQ(plan.first_value("logits"), *plan.output_f32("logits").as<float>());
}

/// Why there is no GPU to run on; empty where there is one.
std::string lacks_gpu() {
  if (cuda_backend().absent != nullptr) return cuda_backend().absent;
  try {
    cuda_backend().memory();
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

double largest_difference(const Tensor& found, const Tensor& right) {
  double difference = 0;
  double largest = 0;
  for (std::int64_t i = 0; i < right.count(); ++i) {
    difference = std::max(difference, std::abs(double{found.as<float>()[i]} - double{right.as<float>()[i]}));
    largest = std::max(largest, std::abs(double{right.as<float>()[i]}));
  }
  return difference / largest;
}

class Gpu : public testing::Test {
 protected:
  void SetUp() override {
    const std::string why = lacks_gpu();
    if (!why.empty()) GTEST_SKIP() << "plans ran on the host only: " << why;
  }
};

TEST_F(Gpu, APlanOnItGivesWhatTheReferenceGives) {
  SmallModel model;
  cuda_backend().describe(model.facts);
  for (const char* precision : {"fp32", "tf32", "fp16", "bf16", "mixed-bf16", "int8", "int8-weights"}) {
    Instance reference = model.instance("fp32");
    Instance gpu = model.instance(precision, "", cuda_backend());
    const Tensor right = logits_of(reference, {2, 9});
    const Tensor first = logits_of(gpu, {2, 9});
    EXPECT_LE(largest_difference(first, right), gpu.precision().row.tolerance) << precision;
    EXPECT_EQ(largest_difference(logits_of(gpu, {2, 9}), first), 0) << precision << ": the same bits in every run";
  }
}

TEST_F(Gpu, AGraphGivesWhatItsKernelsGive) {
  SmallModel model;
  cuda_backend().describe(model.facts);
  const Extent extent = {2, 9};
  for (const char* precision : {"fp32", "bf16", "int8"}) {
    Instance gpu = model.instance(precision, "", cuda_backend());
    const Tensor right = logits_of(gpu, extent);
    Plan plan(gpu, {.extent = extent});
    for (int run = 0; run < 3; ++run) {
      plan.set_inputs(std::vector<std::int32_t>(18, run), {});
      plan.run();
    }
    plan.set_inputs(some_ids(extent), {});
    plan.run();
    EXPECT_EQ(largest_difference(plan.output_f32("logits"), right), 0) << precision;
  }
}

TEST_F(Gpu, TellsWhatAPassTakesItAndTheHost) {
  SmallModel model;
  cuda_backend().describe(model.facts);
  Instance gpu = model.instance("fp32", "", cuda_backend());
  Plan plan(gpu, {.extent = {2, 9}});
  plan.set_inputs(some_ids({2, 9}), {});
  for (int run = 0; run < 2; ++run) plan.run();  // Code is loaded, the recording made.
  for (int run = 0; run < 3; ++run) {
    const std::optional<DeviceTime> time = plan.device().time([&] { plan.enqueue(); });
    ASSERT_TRUE(time.has_value());
    EXPECT_GT(time->device_s, 0) << run;
    EXPECT_LT(time->device_s, 0.4) << run << ": the kernel that holds the stream back is no part of it";
    EXPECT_TRUE(time->enqueue_s.has_value()) << run;
  }
}

TEST_F(Gpu, AStateOnItIsSeenByTheHostAsCopies) {
  State state(cuda_backend().memory());
  state.at("w", DType::f32, {3}).as<float>()[2] = 5;
  state.store("w");
  EXPECT_EQ(state.find("w")->as<float>()[2], 5);
  state.clear("w");
  EXPECT_EQ(state.find("w")->as<float>()[2], 0);
}

}  // namespace
}  // namespace assay
