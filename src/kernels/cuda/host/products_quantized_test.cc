#include <gtest/gtest.h>

#include "kernels/cuda/on_host/on_host.h"
#include "kernels/kernel.h"

// Which kernel takes products of 8 bits, by the GPU and by the sizes; what they compute is the contract suite's.
namespace assay {
namespace {

Call quantized_call(DType operand, std::int64_t in, std::int64_t out) {
  const auto argument = [](DType dtype, const Shape& shape) {
    return Argument{.present = true, .dtype = dtype, .shape = shape, .row_stride = shape.back(), .packing = {}};
  };
  Call call;
  call.operation = &op::quantized_linear;
  call.inputs = {argument(operand, {3, in}), argument(DType::f32, {3}), argument(operand, {out, in}),
                 argument(DType::f32, {out})};
  call.outputs = {argument(DType::bf16, {3, out})};
  return call;
}

Prepared prepared_on(ComputeCapability capability, const Call& call) {
  MachineFacts facts;
  facts.gpu = GpuFacts{.name = "a GPU", .capability = capability};
  return std::get<Prepared>(prepare(cuda_on_host_backend(), call, facts));
}

std::string refusal_on(ComputeCapability capability, const Call& call) {
  MachineFacts facts;
  facts.gpu = GpuFacts{.name = "a GPU", .capability = capability};
  for (const OperationKernels& kernels : cuda_on_host_backend().table) {
    if (kernels.operation != &op::quantized_linear) continue;
    const Offer offer = kernels.implementations.front().prepare(call, facts);
    if (const auto* declined = std::get_if<Declined>(&offer)) return declined->why;
  }
  return "";
}

TEST(QuantizedProducts, OfE4m3AreTheLibrarysFrom89OnAndEmulatedBefore) {
  const Call call = quantized_call(DType::e4m3, 64, 48);
  for (const ComputeCapability capability : {ComputeCapability{8, 9}, ComputeCapability{9, 0}}) {
    const Prepared prepared = prepared_on(capability, call);
    EXPECT_EQ(prepared.operand, DType::e4m3);
    EXPECT_EQ(prepared.accumulator, DType::f32);
    EXPECT_EQ(prepared.verdict, Verdict::native) << prepared.evidence;
  }
  const Prepared older = prepared_on({8, 6}, call);
  EXPECT_EQ(older.operand, DType::f32);
  EXPECT_EQ(older.verdict, Verdict::emulated);
  EXPECT_EQ(refusal_on({8, 6}, call), "no e4m3 products at compute capability 8.6");
  EXPECT_EQ(refusal_on({8, 6}, quantized_call(DType::s8, 64, 48)), "") << "s8 it multiplies";
}

TEST(QuantizedProducts, OfSizesThatTheLibraryDoesNotTakeAreSharedOrDeclined) {
  const ComputeCapability hopper = {9, 0};
  EXPECT_NE(prepared_on(hopper, quantized_call(DType::e4m3, 32, 50257)).description.find("; 1 outputs by a kernel"),
            std::string::npos);
  EXPECT_EQ(refusal_on(hopper, quantized_call(DType::e4m3, 40, 48)), "cuBLASLt takes rows of e4m3 in steps of 16 only");
  EXPECT_EQ(refusal_on(hopper, quantized_call(DType::e4m3, 64, 15)),
            "cuBLASLt makes e4m3 products in steps of 16 only");
  EXPECT_EQ(refusal_on(hopper, quantized_call(DType::s8, 40, 48)), "") << "s8 in fours";
  EXPECT_EQ(prepared_on(hopper, quantized_call(DType::e4m3, 40, 48)).verdict, Verdict::emulated);
  Call window = quantized_call(DType::e4m3, 64, 48);
  window.inputs[0].row_stride = 80;
  EXPECT_EQ(refusal_on(hopper, window), "a window of e4m3 may lie at any address");
}

}  // namespace
}  // namespace assay
