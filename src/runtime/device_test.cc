#include "tensor/device.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/error.h"
#include "runtime/testing.h"
#include "runtime/trace.h"

// A device whose memory the host cannot touch: pages of no access, opened only while a kernel or a copy works. Whoever
// reads a device's tensor without downloading it dies of it.
namespace assay {
namespace {

class GuardedDevice final : public Device {
 public:
  bool is_host() const override { return false; }
  std::byte* allocate(std::size_t bytes) const override {
    if (refuses) throw OutOfMemory("memory: refused", static_cast<double>(bytes), 0);
    const std::size_t size = (bytes + 4096) / 4096 * 4096;
    void* memory = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) fail_lacking("memory: refused");
    blocks_[static_cast<std::byte*>(memory)] = size;
    asked_[static_cast<std::byte*>(memory)] = bytes;
    return static_cast<std::byte*>(memory);
  }
  void release(std::byte* memory) const override {
    munmap(memory, blocks_.at(memory));
    blocks_.erase(memory);
    asked_.erase(memory);
  }
  void upload(std::byte* to, const std::byte* from, std::size_t bytes) const override { copy(to, from, bytes); }
  void download(std::byte* to, const std::byte* from, std::size_t bytes) const override { copy(to, from, bytes); }
  void clear(std::byte* memory, std::size_t bytes) const override {
    open(PROT_READ | PROT_WRITE);
    std::fill_n(memory, bytes, std::byte{0});
    open(PROT_NONE);
  }
  void wait() const override { ++waits; }

  void open(int protection) const {
    for (const auto& [memory, bytes] : blocks_) mprotect(memory, bytes, protection);
  }
  std::size_t blocks() const { return blocks_.size(); }
  std::int64_t bytes() const {
    std::int64_t total = 0;
    for (const auto& [memory, bytes] : asked_) total += static_cast<std::int64_t>(bytes);
    return total;
  }
  mutable int waits = 0;
  bool refuses = false;

 private:
  void copy(std::byte* to, const std::byte* from, std::size_t bytes) const {
    open(PROT_READ | PROT_WRITE);
    std::copy_n(from, bytes, to);
    open(PROT_NONE);
  }
  mutable std::map<std::byte*, std::size_t> blocks_;  ///< Whole pages.
  mutable std::map<std::byte*, std::size_t> asked_;
};

GuardedDevice& guarded() {
  static GuardedDevice device;
  return device;
}
const Device& guarded_memory() {
  return guarded();
}

/// The reference's kernels, which see the device's memory only while they run.
Offer prepare_guarded(const Call& call, const MachineFacts& facts) {
  Offer offer = prepare(reference_backend(), call, facts);
  auto* prepared = std::get_if<Prepared>(&offer);
  if (prepared == nullptr) return offer;
  prepared->kernel = make_kernel([inner = std::shared_ptr<Kernel>(std::move(prepared->kernel))](const Memory& memory) {
    guarded().open(PROT_READ | PROT_WRITE);
    inner->run(memory);
    guarded().open(PROT_NONE);
  });
  return offer;
}

const Backend& guarded_backend() {
  static constexpr Implementation only[] = {{"guarded", prepare_guarded}};
  static const std::vector<OperationKernels> table = [] {
    std::vector<OperationKernels> rows;
    for (const Operation* operation : all_operations()) rows.push_back({operation, only});
    return rows;
  }();
  static const Backend backend = {"guarded", "guarded", table, nullptr, guarded_memory};
  return backend;
}

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
