#include "hardware/gpu.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

/// What boards that people own can multiply. Those before 7.5 are judged, though CUDA 13 builds nothing for them.
struct Board {
  const char* name;
  ComputeCapability capability;
  GpuProducts::Unit f16, bf16, tf32, s8, e4m3;
};
constexpr GpuProducts::Unit none = GpuProducts::Unit::none;
constexpr GpuProducts::Unit cores = GpuProducts::Unit::cuda_cores;
constexpr GpuProducts::Unit tensor = GpuProducts::Unit::tensor_cores;
constexpr Board boards[] = {
    {"Tesla P40", {6, 1}, GpuProducts::Unit::crippled, none, none, cores, none},
    {"Tesla P100", {6, 0}, cores, none, none, none, none},
    {"Tesla V100", {7, 0}, tensor, none, none, cores, none},
    {"Tesla T4", {7, 5}, tensor, none, none, tensor, none},
    {"A100", {8, 0}, tensor, tensor, tensor, tensor, none},
    {"GeForce RTX 3090", {8, 6}, tensor, tensor, tensor, tensor, none},
    {"L40S", {8, 9}, tensor, tensor, tensor, tensor, tensor},
    {"H100", {9, 0}, tensor, tensor, tensor, tensor, tensor},
    {"H200", {9, 0}, tensor, tensor, tensor, tensor, tensor},
    {"B200", {10, 0}, tensor, tensor, tensor, tensor, tensor},
    {"RTX PRO 6000 Blackwell", {12, 0}, tensor, tensor, tensor, tensor, tensor},
};

TEST(Gpu, MultipliesWhatItsCapabilityHas) {
  for (const Board& board : boards) {
    SCOPED_TRACE(board.name);
    EXPECT_EQ(gpu_products(DType::f32, board.capability).unit, cores);
    EXPECT_EQ(gpu_products(DType::f16, board.capability).unit, board.f16);
    EXPECT_EQ(gpu_products(DType::bf16, board.capability).unit, board.bf16);
    EXPECT_EQ(gpu_products(DType::tf32, board.capability).unit, board.tf32);
    EXPECT_EQ(gpu_products(DType::s8, board.capability).unit, board.s8);
    EXPECT_EQ(gpu_products(DType::e4m3, board.capability).unit, board.e4m3);
  }
}

TEST(Gpu, NamesAnInstructionExactlyWhereItHasOne) {
  for (const Board& board : boards) {
    for (const DType dtype : {DType::f32, DType::tf32, DType::f16, DType::bf16, DType::s8, DType::e4m3, DType::s32}) {
      const GpuProducts products = gpu_products(dtype, board.capability);
      EXPECT_EQ(products.instruction == nullptr, products.unit == none) << board.name << " " << name(dtype);
    }
  }
}

TEST(Gpu, PeaksAreThoseOfTheDataSheets) {
  const auto peak = [](ComputeCapability capability, int multiprocessors, int mhz) {
    return f32_peak_gflops(
        {.name = "", .capability = capability, .multiprocessors = multiprocessors, .clock_mhz = mhz});
  };
  EXPECT_NEAR(peak({7, 0}, 80, 1530), 15.7e3, 100);   // V100 SXM2
  EXPECT_NEAR(peak({8, 0}, 108, 1410), 19.5e3, 100);  // A100
  EXPECT_NEAR(peak({9, 0}, 132, 1980), 66.9e3, 100);  // H100 SXM, H200
  EXPECT_NEAR(peak({8, 6}, 82, 1695), 35.6e3, 100);   // RTX 3090
}

}  // namespace
}  // namespace assay
