#include "runtime/instance.h"

#include <gtest/gtest.h>

#include <cstring>

#include "model/stored_values.h"
#include "runtime/testing.h"

namespace assay {
namespace {

/// Bytes of the small model as a precision stores it, once a plan has been made.
std::int64_t model_bytes(const SmallModel& model, const char* precision) {
  Instance instance = model.instance(precision);
  const Plan plan(instance, {.extent = {1, 5}});
  return instance.model_bytes();
}

TEST(Instance, StoresWhatThePrecisionSays) {
  const SmallModel model;
  const std::int64_t f32 = model.weights.parameters() * 4;
  EXPECT_EQ(model_bytes(model, "fp32"), f32);
  EXPECT_EQ(model_bytes(model, "mixed-bf16"), f32);
  EXPECT_EQ(model_bytes(model, "mixed-fp16"), f32);
  // Gains and biases reach kernels in f32, and panels are padded to whole vectors: a few per cent of so small a model.
  for (const char* precision : {"bf16", "fp16"}) {
    EXPECT_NEAR(static_cast<double>(model_bytes(model, precision)) / static_cast<double>(f32), 0.5, 0.05) << precision;
  }
  for (const char* precision : {"int8", "int8-weights"}) {
    EXPECT_NEAR(static_cast<double>(model_bytes(model, precision)) / static_cast<double>(f32), 0.25, 0.1) << precision;
  }
}

TEST(Instance, PaddingOfPackingsIsNoPartOfTheModel) {
  const SmallModel model;
  for (const char* precision : {"fp32", "mixed-bf16"}) {
    Instance instance = model.instance(precision, "", cpu_backend());
    const Plan plan(instance, {.extent = {1, 5}});
    EXPECT_EQ(instance.model_bytes(), model.weights.parameters() * 4) << precision;
  }
}

TEST(Instance, MixedKeepsItsCopiesBesideTheWeights) {
  const SmallModel model;
  Instance instance = model.instance("mixed-bf16");
  const Plan plan(instance, {.extent = {1, 5}});
  EXPECT_GT(instance.resident_bytes(), instance.model_bytes());
}

/// The model as a checkpoint in that dtype has it, which is read so, or widened first.
enum class Reads : std::uint8_t { as_stored, widened };
void store_weights(SmallModel& model, DType dtype, Reads reads) {
  for (auto& [name, weight] : model.weights.by_name) {
    weight.load = [load = weight.load, dtype, reads] {
      WeightData data{{}, converted(load().view, dtype)};
      data.view = data.owned.view();
      return reads == Reads::widened ? in_f32(std::move(data)) : std::move(data);
    };
  }
}

TEST(Instance, WeightsOfSixteenBitsGiveTheBitsThatTheirWidenedValuesGive) {
  for (const DType dtype : {DType::bf16, DType::f16}) {
    SmallModel stored;
    SmallModel widened;
    store_weights(stored, dtype, Reads::as_stored);
    store_weights(widened, dtype, Reads::widened);
    for (const char* precision : {"fp32", "bf16", "fp16", "mixed-bf16", "int8", "int8-weights", "int4"}) {
      Instance one = stored.instance(precision, "", cpu_backend());
      Instance other = widened.instance(precision, "", cpu_backend());
      const Tensor a = logits_of(one, {2, 9});
      const Tensor b = logits_of(other, {2, 9});
      EXPECT_EQ(std::memcmp(a.data(), b.data(), a.bytes()), 0) << name(dtype) << " in " << precision;
    }
  }
}

TEST(Instance, PlansShareItsWeights) {
  const SmallModel model;
  for (const Backend* backend : {&reference_backend(), &cpu_backend()}) {
    Instance instance = model.instance("bf16", "", *backend);
    const Plan first(instance, {.extent = {1, 5}});
    const std::int64_t resident = instance.resident_bytes();
    const Plan second(instance, {.extent = {4, 24}});
    EXPECT_EQ(instance.resident_bytes(), resident) << backend->name << ": packing depends on neither B nor T";
    EXPECT_EQ(instance.missing_bytes({9, 9}), 0) << backend->name;
  }
}

TEST(Instance, MissingBytesForetellWhatWillBeHeld) {
  const SmallModel model;
  for (const char* precision : {"fp32", "bf16", "int8", "mixed-bf16"}) {
    Instance instance = model.instance(precision);
    const std::int64_t foretold = instance.missing_bytes({1, 5});
    const Plan plan(instance, {.extent = {1, 5}});
    EXPECT_EQ(instance.resident_bytes(), foretold) << precision;
  }
}

TEST(Instance, BorrowsWhatAnotherHoldsAndComputesTheSame) {
  const SmallModel model;
  constexpr Extent extent{2, 5};
  for (const Backend* backend : {&reference_backend(), &cpu_backend()}) {
    Instance fp32 = model.instance("fp32", "", *backend);
    Instance int8 = model.instance("int8", "", *backend);
    logits_of(fp32, extent);
    logits_of(int8, extent);
    Instance alone = model.instance("fp32", "layers.1.mlp.up_proj=int8", *backend);
    Instance borrowing = model.instance("fp32", "layers.1.mlp.up_proj=int8", *backend);
    borrowing.borrow_from(fp32);
    borrowing.borrow_from(int8);
    EXPECT_EQ(borrowing.missing_bytes(extent), 0) << backend->name;
    const Tensor expected = logits_of(alone, extent);
    const Tensor found = logits_of(borrowing, extent);
    EXPECT_EQ(std::memcmp(expected.data(), found.data(), expected.bytes()), 0) << backend->name;
    EXPECT_EQ(borrowing.resident_bytes(), 0) << backend->name << ": every constant is one of the two's";
    EXPECT_EQ(borrowing.model_bytes(), alone.model_bytes()) << backend->name;
  }
}

TEST(Instance, TheLedgerNamesTheOneLayerOfAnotherRow) {
  const SmallModel model;
  Instance instance = model.instance("fp32", "layers.1.mlp.up_proj=int8", cpu_backend());
  const Plan plan(instance, {.extent = {1, 5}});
  int products = 0;
  for (const LedgerRow& row : plan.ledger().rows) {
    const bool is_layer = row.path == "layers.1.mlp.up_proj";
    EXPECT_EQ(row.requested, is_layer && row.operation != "add" ? "int8" : "fp32") << row.path << " " << row.operation;
    if (row.operation != "quantized_linear") continue;
    ++products;
    EXPECT_EQ(row.operand, DType::s8);
  }
  EXPECT_EQ(products, 1);
}

}  // namespace
}  // namespace assay
