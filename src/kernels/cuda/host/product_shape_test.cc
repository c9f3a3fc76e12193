#include <gtest/gtest.h>

#include <vector>

#include "kernels/cuda/dequantize.h"
#include "kernels/cuda/host/cublaslt.h"

namespace assay::ASSAY_CUDA_NAMESPACE {
namespace {

TEST(ProductShape, IsAlignedAsItsColumnsBatchesAndStepsAre) {
  const auto alignment = [](std::int64_t stride, std::int64_t batch_stride, std::int64_t step) {
    return alignment_of({DType::bf16, 4, 10, stride, batch_stride, step});
  };
  EXPECT_EQ(alignment(32, 16, 0), 16U);
  EXPECT_EQ(alignment(36, 16, 0), 8U);
  EXPECT_EQ(alignment(32, 2, 0), 4U);
  EXPECT_EQ(alignment(33, 16, 0), 2U);
  EXPECT_EQ(alignment(60, 24, 12), 8U) << "four heads of 12 to a key head: the second begins 24 bytes on";
  EXPECT_EQ(alignment(32, 16, 2), 4U);
  EXPECT_EQ(alignment_of({DType::f32, 4, 10, 3}), 4U);
  EXPECT_EQ(alignment_of({DType::s8, 4, 10, 3}), 1U);
}

TEST(ProductShape, IsMultipliedAsTf32WhereEitherOperandIs) {
  const auto operand = [](DType a, DType b) {
    ProductShape shape;
    shape.a.dtype = a;
    shape.b.dtype = b;
    shape.c.dtype = DType::tf32;
    const ProductShape seen = as_multiplied(shape);
    EXPECT_EQ(seen.a.dtype, seen.b.dtype);
    EXPECT_EQ(seen.c.dtype, DType::f32);
    return seen.a.dtype;
  };
  EXPECT_EQ(operand(DType::f32, DType::tf32), DType::tf32);
  EXPECT_EQ(operand(DType::tf32, DType::f32), DType::tf32);
  EXPECT_EQ(operand(DType::f32, DType::f32), DType::f32) << "fp32 stays strict";
}

TEST(ProductShape, KeyTellsStepsApart) {
  ProductShape shape;
  const std::string without = shape.key();
  shape.a.step = 8;
  EXPECT_NE(shape.key(), without) << "another alignment, another algorithm";
}

TEST(SharedOutputs, TheLibraryTakesStepsAndTheRestIsOurs) {
  EXPECT_EQ(shared_outputs(50257, size_step(DType::s8)).by_library, 50256);
  EXPECT_EQ(shared_outputs(50257, size_step(DType::s8)).sums_stride, 50260);
  EXPECT_EQ(shared_outputs(50257, size_step(DType::e4m3)).by_library, 50256);
  EXPECT_EQ(shared_outputs(50257, size_step(DType::e4m3)).sums_stride, 50272);
  EXPECT_EQ(shared_outputs(768, 16).by_library, 768);
  EXPECT_EQ(shared_outputs(768, 16).sums_stride, 768);
  EXPECT_EQ(shared_outputs(3, 4).by_library, 0);
}

TEST(RestOfSums, OfS8AreExactAndLeaveTheOthersAlone) {
  constexpr std::int64_t in = 100000;  // 127 * 127 * in is beyond what f32 counts exactly.
  const std::vector<std::int8_t> x(2 * in, 127);
  std::vector<std::int8_t> w(5 * in, 127);
  w.back() = 126;
  std::vector<std::int32_t> sums(2 * 8, -1);
  sum_rest({.x = reinterpret_cast<const std::byte*>(x.data()),
            .w = reinterpret_cast<const std::byte*>(w.data()),
            .sums = reinterpret_cast<std::byte*>(sums.data()),
            .rows = 2,
            .in = in,
            .x_stride = in,
            .sums_stride = 8,
            .first = 4,
            .out = 5});
  for (std::size_t i = 0; i < sums.size(); ++i) EXPECT_EQ(sums[i], i % 8 == 4 ? 127 * 127 * in - 127 : -1) << i;
}

TEST(RestOfSums, OfE4m3AreKeptInF32) {
  const std::vector<std::uint8_t> x = {0x38, 0x01, 0xb8};           // 1, 2^-9, -1
  const std::vector<std::uint8_t> w = {0, 0, 0, 0x7e, 0x08, 0x40};  // 0 0 0, 448 2^-6 2
  std::vector<float> sums = {-7, -7};
  sum_rest({.operand = DType::e4m3,
            .x = reinterpret_cast<const std::byte*>(x.data()),
            .w = reinterpret_cast<const std::byte*>(w.data()),
            .sums = reinterpret_cast<std::byte*>(sums.data()),
            .rows = 1,
            .in = 3,
            .x_stride = 3,
            .sums_stride = 2,
            .first = 1,
            .out = 2});
  EXPECT_EQ(sums, (std::vector<float>{-7, 446 + 0x1p-15F}));
}

TEST(ProductShape, IsAWindowUnlessItIsSaidToLieAligned) {
  Matrix sums{DType::f32, 48, 10, 64};
  EXPECT_TRUE(sums.is_window());
  sums.placed = Matrix::Placed::aligned;
  EXPECT_FALSE(sums.is_window());
  EXPECT_EQ(alignment_of(sums), 16U);
}

}  // namespace
}  // namespace assay::ASSAY_CUDA_NAMESPACE
