#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <new>

#include "base/testing.h"
#include "base/threads.h"
#include "model/model.h"
#include "model/random_weights.h"
#include "model/testing.h"
#include "processes/thread_ranks.h"
#include "runtime/testing.h"
#include "training/data.h"
#include "training/reducer.h"
#include "training/step.h"

namespace assay {
namespace {

constexpr std::int64_t rank_test_batch = 8;

MachineFacts one_thread() {
  MachineFacts facts = plain_facts();
  facts.threads = 1;
  facts.isa = {};
  return facts;
}

/// What is trained, on which rows.
struct RankCase {
  std::string name;
  ModelConfig config;
  std::function<TrainingData()> data;  ///< Knows the order of an epoch: each rank makes its own.
  std::string precision = "fp32";
  TrainingStorage storage = {};
};

ModelConfig small_cs336() {
  ModelConfig config = small_gpt2();
  config.family = find_family("cs336");
  config.activation = Activation::silu;
  return config;
}

RankCase language_case(const std::string& precision) {
  const auto data = [] {
    std::vector<std::int32_t> ids;
    for (std::int32_t i = 0; i < 400; ++i) ids.push_back(i * i % 97);
    return random_windows(ids, {rank_test_batch, 12}, 1, "text");
  };
  return {"cs336 " + precision, small_cs336(), data, precision};
}

/// Moments as codes in blocks, gradients in 16 bits.
RankCase narrow_storage_case() {
  RankCase one = language_case("fp32");
  one.storage = {&find_state_format("8bit", "--states"), DType::bf16};
  return one;
}

/// The last batch of an epoch has two rows: fewer than four ranks.
RankCase classifier_case() {
  ModelConfig config = open_model((model_fixtures / "bert-classifier").string(), {}).config;
  config.layers = 1;  // Random weights in any case.
  const auto data = [context = config.context, classes = config.labels] {
    TokenisedSet set;
    for (std::int32_t i = 0; i < 26; ++i) {
      set.ids.emplace_back(static_cast<std::size_t>(2 + i % 11), 1 + i % 29);
      set.labels.push_back(i % static_cast<std::int32_t>(classes));
    }
    return labelled_batches(std::move(set), rank_test_batch, context, 1);
  };
  return {"classifier", config, data};
}

TrainingOptions rank_options_of(const RankCase& one) {
  TrainingOptions options;
  options.precision = choose_precision(one.precision, "", std::nullopt);
  options.storage = one.storage;
  options.optimizer.clip_norm = 0.5;
  options.optimizer.weight_decay = 0.1;
  if (one.config.family->dropout != Dropout::absent) options.dropout = 0.1;
  return options;
}

/// A device whose memory the host reaches by copies alone, as that of a GPU: what it keeps of it itself is old.
class CopiedDevice final : public Device {
 public:
  bool is_host() const override { return false; }
  std::byte* allocate(std::size_t bytes) const override {
    return static_cast<std::byte*>(::operator new(bytes, std::align_val_t(64)));
  }
  void release(std::byte* memory) const override { ::operator delete(memory, std::align_val_t(64)); }
  void upload(std::byte* to, const std::byte* from, std::size_t bytes) const override { std::copy_n(from, bytes, to); }
  void download(std::byte* to, const std::byte* from, std::size_t bytes) const override {
    std::copy_n(from, bytes, to);
  }
  void clear(std::byte* memory, std::size_t bytes) const override { std::fill_n(memory, bytes, std::byte{0}); }
  void wait() const override {}
};

const Backend& copied_backend() {
  static const CopiedDevice device;
  static const Backend backend = {"copied", "copied", reference_backend().table, nullptr,
                                  []() -> const Device& { return device; }};
  return backend;
}

/// What a library of the device would do, by the group's own sums.
class PretendedSums final : public DeviceSums {
 public:
  explicit PretendedSums(Group& group) : group_(group) {}
  std::string library() const override { return "a pretended library"; }
  void begin(std::span<const DeviceValues> values) override {
    constexpr int first_channel = 100;
    for (const DeviceValues& one : values) {
      const std::span bytes(one.memory, static_cast<std::size_t>(one.count) * size_of(one.dtype));
      sums_.push_back(group_.begin_sum(first_channel + static_cast<int>(sums_.size()), bytes, one.dtype));
    }
  }
  bool test() override {
    while (!sums_.empty() && sums_.back()->test()) sums_.pop_back();
    return sums_.empty();
  }

 private:
  Group& group_;
  std::vector<std::unique_ptr<Exchange>> sums_;
};

/// Where a rank's gradients lie and are summed.
struct RankDevice {
  const Backend& backend = cpu_backend();
  bool sums_itself = false;
};

/// Losses of every step and all bytes of the state behind the last.
struct Trained {
  std::vector<double> losses;
  std::vector<double> norms;
  std::map<std::string, std::vector<std::byte>> state;
  std::int64_t skipped = 0;
};

std::vector<std::byte> state_bytes_of(const Tensor& tensor) {
  return {tensor.data(), tensor.data() + tensor.bytes()};
}

Trained train_as(const RankCase& one, const TrainingOptions& options, std::int64_t steps, const StepOptions& step,
                 const ReduceOptions& reduce, const RankDevice& device = {}) {
  const MachineFacts facts = one_thread();
  set_threads(1);
  const Weights weights = random_weights(build_program(one.config, {}), one.config, 3);
  Trainer trainer(one.config, weights, options, device.backend, facts);
  std::unique_ptr<DeviceSums> sums;
  if (device.sums_itself) sums = std::make_unique<PretendedSums>(*step.group);
  if (step.group != nullptr) trainer.join(*step.group, reduce, std::move(sums));
  const TrainingData data = one.data();
  Trained trained;
  for (std::int64_t i = 0; i < steps; ++i) {
    const StepResult result = run_step(trainer, data.batch(i), i, step);
    trained.losses.push_back(result.loss);
    trained.norms.push_back(result.update.gradient_norm.value_or(-1));
  }
  for (const auto& [name, tensor] : trainer.state().tensors()) {
    if (!name.starts_with(gradient_prefix)) trained.state[name] = state_bytes_of(tensor);
  }
  for (const auto& [name, tensor] : trainer.gather_moments()) trained.state[name] = state_bytes_of(tensor);
  trained.skipped = trainer.loss_scale().progress().skipped;
  return trained;
}

Trained in_parts(const RankCase& one, std::int64_t steps, std::int64_t parts) {
  TrainingOptions options = rank_options_of(one);
  options.gradients = Gradients::added;
  return train_as(one, options, steps, {.parts = parts, .seed = 7}, {});
}

/// What rank 0 of so many has in the end.
Trained in_ranks(const RankCase& one, std::int64_t steps, int ranks, const ReduceOptions& reduce,
                 ZeroStage zero = ZeroStage::none, const RankDevice& device = {}) {
  Trained first;
  run_as_ranks(ranks, [&](Group& group) {
    TrainingOptions options = rank_options_of(one);
    options.sharding = {zero, group.rank(), group.size()};
    Trained trained = train_as(one, options, steps, {.seed = 7, .group = &group}, reduce, device);
    if (group.rank() == 0) first = std::move(trained);
  });
  return first;
}

void expect_same(const Trained& a, const Trained& b, const std::string& what) {
  EXPECT_EQ(a.losses, b.losses) << what;
  EXPECT_EQ(a.norms, b.norms) << what;
  ASSERT_EQ(a.state.size(), b.state.size()) << what;
  for (const auto& [name, bytes] : a.state) {
    ASSERT_TRUE(b.state.count(name)) << what << " " << name;
    EXPECT_TRUE(bytes == b.state.at(name)) << what << " " << name;
  }
}

TEST(Ranks, EqualOneProcessThatWorksTheirPartsToTheBit) {
  constexpr std::int64_t steps = 20;
  for (const RankCase& one :
       {language_case("fp32"), language_case("mixed-fp16"), language_case("mixed-fp8"), classifier_case()}) {
    for (const int ranks : {2, 4}) {
      const Trained parts = in_parts(one, steps, ranks);
      EXPECT_LT(parts.losses.back(), parts.losses.front());
      ReduceOptions reduce;
      reduce.bucket_bytes = 4096;  // Many buckets.
      expect_same(in_ranks(one, steps, ranks, reduce), parts, fmt::format("{}, {} ranks", one.name, ranks));
    }
  }
}

TEST(Ranks, SharesOfTheStateChangeNothing) {
  ReduceOptions reduce;
  reduce.bucket_bytes = 4096;
  for (const RankCase& one : {language_case("fp32"), language_case("mixed-fp8"), narrow_storage_case()}) {
    for (const int ranks : {2, 3}) {
      const Trained whole = in_ranks(one, 6, ranks, reduce);
      for (const ZeroStage stage : {ZeroStage::optimizer, ZeroStage::gradients})
        expect_same(in_ranks(one, 6, ranks, reduce, stage), whole, fmt::format("{}, {} ranks", one.name, ranks));
    }
  }
}

/// Of more ranks than parameters some own nothing; with rates by role no rank need have parameters of each.
TEST(Ranks, MayBeMoreThanThereAreParametersToOwn) {
  RankCase one = language_case("fp32");
  one.config.layers = 1;
  const auto parameters =
      static_cast<int>(gradient_sizes(training_programs(one.config, rank_options_of(one)).step).size());
  const Trained whole = in_ranks(one, 2, parameters + 2, {});
  for (const ZeroStage stage : {ZeroStage::optimizer, ZeroStage::gradients})
    expect_same(in_ranks(one, 2, parameters + 2, {}, stage), whole, one.name);
}

/// Nobody gets the whole of a tensor from each of the others: not its owner either, whose link and memory would not do.
TEST(Ranks, WhatEachSendsOfATensorWithAnOwnerIsAsMuchAsItIsLong) {
  constexpr std::int64_t elements = 1000;
  run_as_ranks(5, [&](Group& group) {
    std::vector<float> values(elements, static_cast<float>(group.rank() + 1));
    auto* const data = reinterpret_cast<std::byte*>(values.data());
    GradientReducer reducer(group, {}, {{"w", DType::f32, elements, data, 3, false}});
    reducer.start();
    reducer.finished(0);
    reducer.wait();
    const std::int64_t all = elements * static_cast<std::int64_t>(sizeof(float));
    EXPECT_EQ(reducer.statistics().sent_bytes, group.rank() == 3 ? all * 4 / 5 : all);
    if (group.rank() != 3) return;
    EXPECT_EQ(values, std::vector<float>(elements, 15)) << "1 + 2 + 3 + 4 + 5";
  });
}

/// On a device the host does not touch what its library sums; the last batch of the classifier leaves ranks without
/// rows.
TEST(Ranks, ADevicesLibrarySumsWhereGradientsLie) {
  const ReduceOptions reduce = {.by = ReduceBy::library, .bucket_bytes = 4096};
  for (const RankCase& one : {language_case("fp32"), classifier_case()}) {
    for (const ZeroStage stage : {ZeroStage::none, ZeroStage::optimizer}) {
      const Trained by_host = in_ranks(one, 4, 3, reduce, stage, {copied_backend()});
      const Trained by_device = in_ranks(one, 4, 3, reduce, stage, {copied_backend(), true});
      EXPECT_LT(by_host.losses.back(), 1.5 * by_host.losses.front());
      expect_same(by_device, by_host, one.name);
    }
  }
}

/// What ranks tell each other of the scales of 8-bit products reaches the device.
TEST(Ranks, ADevicesScalesAreThoseOfAllRanks) {
  const RankCase one = language_case("mixed-fp8");
  const Trained on_device = in_ranks(one, 4, 3, {}, ZeroStage::none, {copied_backend()});
  expect_same(on_device, in_ranks(one, 4, 3, {}, ZeroStage::none, {reference_backend()}), one.name);
}

/// Pages of the tensor that lie in memory.
std::int64_t resident_pages(const Tensor& tensor) {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const std::uintptr_t first = (reinterpret_cast<std::uintptr_t>(tensor.data()) + page - 1) / page * page;
  const std::uintptr_t end = reinterpret_cast<std::uintptr_t>(tensor.data()) + tensor.bytes();
  if (end < first + page) return 0;
  std::vector<unsigned char> there((end - first) / page);
  EXPECT_EQ(::mincore(reinterpret_cast<void*>(first), there.size() * page, there.data()), 0);
  return std::count_if(there.begin(), there.end(), [](unsigned char one) { return (one & 1) != 0; });
}

TEST(Ranks, GradientsOfOtherRanksParametersLeaveMemoryUnderZeroTwo) {
  for (const ZeroStage stage : {ZeroStage::optimizer, ZeroStage::gradients}) {
    run_as_ranks(2, [&](Group& group) {
      RankCase one = language_case("fp32");
      one.config.d_ff = 2048;  // Tensors of many pages.
      TrainingOptions options = rank_options_of(one);
      options.sharding = {stage, group.rank(), group.size()};
      const MachineFacts facts = one_thread();
      set_threads(1);
      const Weights weights = random_weights(build_program(one.config, {}), one.config, 3);
      Trainer trainer(one.config, weights, options, cpu_backend(), facts);
      trainer.join(group, {});
      run_step(trainer, one.data().batch(0), 0, {.seed = 7, .group = &group});
      std::int64_t own = 0;
      std::int64_t others = 0;
      for (const ReducedTensor& tensor : trainer.reducer()->tensors())
        (tensor.owner == group.rank() ? own : others) += resident_pages(*trainer.state().find(tensor.name));
      EXPECT_GT(own, 50);
      if (stage == ZeroStage::gradients)
        EXPECT_EQ(others, 0);
      else
        EXPECT_GT(others, 50);
    });
  }
}

/// What is refused is what would lie in memory: more of passing gradients in large buckets than in small ones.
TEST(Ranks, ARefusalUnderZeroTwoKnowsHowLargeBucketsAre) {
  RankCase one = language_case("fp32");
  one.config.layers = 12;  // Many buckets, each a small part of all gradients.
  const Weights weights = random_weights(build_program(one.config, {}), one.config, 3);
  MachineFacts facts = one_thread();
  facts.available_bytes = 1;
  const auto needed = [&](std::optional<std::int64_t> bucket_bytes) {
    TrainingOptions options = rank_options_of(one);
    options.sharding = {ZeroStage::gradients, 0, 2, bucket_bytes};
    try {
      const Trainer trainer(one.config, weights, options, cpu_backend(), facts);
    } catch (const OutOfMemory& refusal) {
      return refusal.needed_bytes;
    }
    return 0.0;
  };
  EXPECT_GT(needed(1), 0);
  EXPECT_LT(needed(1), needed(std::nullopt)) << "a tensor a bucket; all of them in one";
  EXPECT_EQ(needed(ReduceOptions{}.bucket_bytes), needed(std::nullopt));
}

TEST(Ranks, SixteenBitsOnTheWireStayNearAndSumsInF32Nearer) {
  const RankCase one = language_case("fp32");
  const Trained exact = in_ranks(one, 10, 4, {});
  const auto error = [&](const char* format) {
    const Trained other = in_ranks(one, 10, 4, {.format = find_reduce_format(format)});
    double sum = 0;
    for (std::size_t i = 0; i < exact.losses.size(); ++i) sum += std::abs(other.losses[i] - exact.losses[i]);
    EXPECT_NE(other.losses, exact.losses) << format;
    return sum / 10;
  };
  const double loss = exact.losses.back();
  EXPECT_LT(error("bf16"), 0.02 * loss);
  EXPECT_LT(error("bf16-f32sum"), 0.02 * loss);
  EXPECT_LT(error("f16-f32sum"), 0.005 * loss);
}

/// One reduction of known values, on every rank.
std::vector<std::vector<float>> reduced(int ranks, const ReduceOptions& options,
                                        const std::function<float(int rank, std::size_t i)>& value,
                                        std::vector<std::int64_t> counts) {
  std::vector<std::vector<float>> all(static_cast<std::size_t>(ranks));
  run_as_ranks(ranks, [&](Group& group) {
    std::vector<std::vector<float>> memory;
    std::vector<ReducedTensor> tensors;
    std::size_t element = 0;
    for (const std::int64_t count : counts) {
      std::vector<float>& own = memory.emplace_back(static_cast<std::size_t>(count));
      for (float& one : own) one = value(group.rank(), element++);
      tensors.push_back({"t", DType::f32, count, reinterpret_cast<std::byte*>(own.data())});
    }
    GradientReducer reducer(group, options, tensors);
    for (int step = 0; step < 2; ++step) {  // Again, with what the first left in its buffers.
      element = 0;
      for (auto& own : memory) {
        for (float& one : own) one = value(group.rank(), element++);
      }
      reducer.start();
      for (std::size_t i = 0; i < counts.size(); ++i) {
        reducer.finished(i);
        reducer.progress();
      }
      reducer.wait();
    }
    EXPECT_GT(reducer.statistics().sent_bytes, 0);
    for (const auto& own : memory) {
      auto& mine = all[static_cast<std::size_t>(group.rank())];
      mine.insert(mine.end(), own.begin(), own.end());
    }
  });
  return all;
}

TEST(Reducer, SumsInRankOrderAndRoundsAsItsFormatSays) {
  const auto value = [](int rank, std::size_t i) {
    return std::sin(static_cast<float>(i) + 0.3F) * std::pow(2.0F, static_cast<float>(rank * 3 % 7));
  };
  const std::vector<std::int64_t> counts = {1, 700, 3, 4999, 64};
  for (const ReduceFormat& format : reduce_formats()) {
    for (const int ranks : {2, 3, 4}) {
      const auto all = reduced(ranks, {.format = format, .bucket_bytes = 2000}, value, counts);
      for (std::size_t i = 0; i < all[0].size(); ++i) {
        float sum = 0;
        for (int rank = 0; rank < ranks; ++rank)
          sum = round_to(format.sum, sum + round_to(format.wire, value(rank, i)));
        for (const auto& of_rank : all) ASSERT_EQ(of_rank[i], round_to(format.wire, sum)) << format.name << " " << i;
      }
    }
  }
}

TEST(Reducer, ALibrarysSumIsTheSameOnEveryRank) {
  const auto value = [](int rank, std::size_t i) { return static_cast<float>(i % 17) + static_cast<float>(rank); };
  const auto all = reduced(3, {.by = ReduceBy::library, .bucket_bytes = 256}, value, {50, 200, 7});
  for (std::size_t i = 0; i < all[0].size(); ++i) {
    for (const auto& of_rank : all) EXPECT_EQ(of_rank[i], 3 * static_cast<float>(i % 17) + 3);
  }
  EXPECT_NE(user_error_of([] {
              check_reduce({.format = find_reduce_format("bf16-f32sum"), .by = ReduceBy::library});
            }).find("--reduce bf16-f32sum"),
            std::string::npos);
}

TEST(Sharding, OwnersHaveAboutEqualShares) {
  const std::vector<int> owners = balanced_owners({100, 90, 30, 30, 20, 10}, 3);
  EXPECT_EQ(owners, (std::vector<int>{0, 1, 2, 2, 2, 2}));
}

}  // namespace
}  // namespace assay
