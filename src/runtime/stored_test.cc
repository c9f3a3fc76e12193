#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "base/random.h"
#include "hardware/cpu_features.h"
#include "runtime/forecast.h"
#include "runtime/testing.h"

// The row that takes weights as a file holds them.

namespace assay {
namespace {

/// Blocks whose first two bytes are a scale, and the next two in Q4_1 a minimum: both about 0.01.
Tensor made_up_blocks(const BlockFormat& format, const Shape& shape, std::uint64_t seed) {
  Random random(seed);
  Tensor blocks(DType::u8, {shape[0], format.bytes_of(shape[1])});
  for (std::size_t i = 0; i < blocks.bytes(); ++i) blocks.data()[i] = static_cast<std::byte>(random.below(256));
  const auto bytes = static_cast<std::size_t>(format.bytes);
  for (std::size_t at = 0; at < blocks.bytes(); at += bytes) {
    const f16 scale = to_f16(0.002F + 0.002F * static_cast<float>(random.next_uniform()));
    const f16 minimum = to_f16(-0.02F);
    std::memcpy(blocks.data() + at, &scale, sizeof(scale));
    if (&format == &blocks::q4_1) std::memcpy(blocks.data() + at + 2, &minimum, sizeof(minimum));
  }
  return blocks;
}

WeightData owned(Tensor values) {
  WeightData data{{}, std::move(values)};
  data.view = data.owned.view();
  return data;
}

/// Makes the weight one of blocks.
void put_in_blocks(Weight& weight, const BlockFormat& format, std::uint64_t seed) {
  weight.stored = format.name;
  weight.blocks = &format;
  weight.load_blocks = [&format, shape = weight.shape, seed] { return owned(made_up_blocks(format, shape, seed)); };
  weight.load = [&format, shape = weight.shape, seed] {
    const Tensor blocks = made_up_blocks(format, shape, seed);
    Tensor values(DType::f32, shape);
    expand_blocks(format, {blocks.data(), blocks.bytes()},
                  {values.as<float>(), static_cast<std::size_t>(values.count())});
    return owned(std::move(values));
  };
}

/// A model whose matrices are in blocks of several formats, joined ones too; its head is its embedding.
struct StoredModel {
  SmallModel small = {.config = wide()};
  StoredModel() {
    constexpr const BlockFormat* formats[] = {&blocks::q8_0, &blocks::q4_1, &blocks::q5_0};
    std::uint64_t number = 0;
    for (auto& [name, weight] : small.weights.by_name) {
      if (weight.shape.size() != 2 || name == "wpe.weight") continue;
      put_in_blocks(weight, *formats[number % 3], number);
      ++number;
    }
  }
  static ModelConfig wide() {
    ModelConfig config = small_gpt2();
    config.d_model = 64;
    config.head_dim = 64 / config.heads;
    config.d_ff = 96;
    return config;
  }
  Instance instance(const char* precision, const Backend& on) const {
    const PrecisionChoice choice = choose_precision(precision, "", std::nullopt);
    return Instance(fuse(assign_dtypes(build_program(small.config, {}), choice, small.weights.formats())), choice,
                    small.weights, on, small.facts);
  }
};

double largest_apart(const Tensor& a, const Tensor& b) {
  double largest = 0;
  double magnitude = 0;
  for (std::int64_t i = 0; i < a.count(); ++i) {
    largest = std::max<double>(largest, std::abs(a.as<float>()[i] - b.as<float>()[i]));
    magnitude = std::max<double>(magnitude, std::abs(a.as<float>()[i]));
  }
  return largest / magnitude;
}

TEST(Stored, ComputesWhatTheExpandedWeightsGive) {
  const StoredModel model;
  for (const Backend* backend : {&reference_backend(), &cpu_backend()}) {
    Instance fp32 = model.instance("fp32", *backend);
    Instance stored = model.instance("stored", *backend);
    EXPECT_LE(largest_apart(logits_of(fp32, {2, 7}), logits_of(stored, {2, 7})), 2e-5) << backend->name;
    EXPECT_LT(stored.model_bytes(), fp32.model_bytes() / 3) << backend->name;
  }
}

TEST(Stored, HoldsNoMoreThanTheBlocksAndWhatIsPlain) {
  const StoredModel model;
  std::int64_t expected = 0;
  for (const auto& [name, weight] : model.small.weights.by_name) {
    const std::int64_t row = weight.shape.back();
    const std::int64_t rows = element_count(weight.shape) / row;
    expected += rows * (weight.blocks != nullptr ? weight.blocks->bytes_of(row) : row * 4);
  }
  Instance stored = model.instance("stored", reference_backend());
  EXPECT_EQ(stored.missing_bytes({2, 7}), expected);
  logits_of(stored, {2, 7});
  EXPECT_EQ(stored.resident_bytes(), expected);
  EXPECT_EQ(stored.model_bytes(), expected);
}

TEST(Stored, TheLedgerSaysWhatIsInTheFileAndWhatIsKept) {
  const StoredModel model;
  Instance stored = model.instance("stored", cpu_backend());
  const Plan plan(stored, {.extent = {1, 5}});
  for (const LedgerRow& row : plan.ledger().rows) {
    if (row.operation != "block_linear") continue;
    EXPECT_EQ(row.weight_kept, row.weight_in_file) << row.path;
    EXPECT_TRUE(row.weight_kept.starts_with('Q')) << row.path;
    EXPECT_EQ(row.stored, DType::f32);
  }
  Instance bf16 = model.instance("bf16", cpu_backend());
  const Plan other(bf16, {.extent = {1, 5}});
  for (const LedgerRow& row : other.ledger().rows) {
    if (row.operation != "linear") continue;
    EXPECT_EQ(row.weight_kept, "bf16") << row.path;
    EXPECT_TRUE(row.weight_in_file.starts_with('Q')) << row.path;
  }
}

TEST(Stored, IntegersComputeTheSameWithinWhatQuantisedActivationsCost) {
  const StoredModel model;
  for (const Backend* backend : {&reference_backend(), &cpu_backend()}) {
    Instance stored = model.instance("stored", *backend);
    Instance integers = model.instance("stored-int8", *backend);
    const double apart = largest_apart(logits_of(stored, {2, 7}), logits_of(integers, {2, 7}));
    EXPECT_LE(apart, find_precision("stored-int8").tolerance) << backend->name;
    EXPECT_GT(apart, 0) << backend->name;
    EXPECT_EQ(integers.model_bytes(), stored.model_bytes()) << backend->name;
  }
}

/// Widths that fill no block: what fills them up counts.
TEST(Blocks, AreMadeInTheSizeThatTheirBitsSay) {
  const SmallModel model;
  for (const char* precision : {"int4-weights", "int4-weights-g128", "int4-weights-zp", "int4-weights-min",
                                "int4-weights-k", "int6-weights-k", "int4", "int8-group"}) {
    const BlockFormat& format = *find_precision(precision).blocks;
    std::int64_t expected = 0;
    for (const auto& [name, weight] : model.weights.by_name) {
      const std::int64_t row = weight.shape.back();
      const std::int64_t rows = element_count(weight.shape) / row;
      const bool is_position = name == "wpe.weight";
      const std::int64_t plain = row * (is_position ? 2 : 4);
      expected += rows * (weight.shape.size() == 2 && !is_position ? format.bytes_of(row) : plain);
    }
    Instance instance = model.instance(precision);
    logits_of(instance, {2, 7});
    EXPECT_EQ(instance.model_bytes(), expected) << precision;
  }
}

TEST(Blocks, AreForecastAsTheyThenAre) {
  const SmallModel model;
  for (const char* precision : {"int4-weights-zp", "int4", "int8-group"}) {
    Instance instance = model.instance(precision, "", cpu_backend());
    const PlanOptions options{.extent = {2, 9}};
    const Forecast seen =
        forecast(instance.program(), {instance.precision(), model.weights, instance.backend(), model.facts}, options);
    const Plan plan(instance, options);
    EXPECT_EQ(seen.constant_bytes(), instance.resident_bytes()) << precision;
    EXPECT_EQ(seen.arena_bytes(), plan.arena_bytes()) << precision;
  }
}

TEST(Blocks, BackendsAgreeOnWhatTheyMultiply) {
  SmallModel model;
  model.facts.isa = detect_instruction_sets();
  for (const char* precision : {"int4-weights", "int4-weights-zp", "int4", "int8-group"}) {
    Instance reference = model.instance(precision);
    Instance cpu = model.instance(precision, "", cpu_backend());
    for (const Extent extent : {Extent{2, 7}, Extent{1, 1}})
      EXPECT_LE(largest_apart(logits_of(reference, extent), logits_of(cpu, extent)), 5e-2) << precision;
  }
}

TEST(Stored, IsForecastAsItThenIs) {
  const StoredModel model;
  Instance stored = model.instance("stored", cpu_backend());
  const PlanOptions options{.extent = {2, 9}};
  const Forecast seen = forecast(
      stored.program(), {stored.precision(), model.small.weights, stored.backend(), model.small.facts}, options);
  const Plan plan(stored, options);
  EXPECT_EQ(seen.constant_bytes(), stored.resident_bytes());
  EXPECT_EQ(seen.arena_bytes(), plan.arena_bytes());
}

}  // namespace
}  // namespace assay
