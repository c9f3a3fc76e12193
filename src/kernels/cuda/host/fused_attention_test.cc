#include "kernels/cuda/host/fused_attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "kernels/cuda/host/libraries.h"
#include "kernels/cuda/host/products.h"
#include "kernels/cuda/on_host/on_host.h"
#include "tensor/tensor.h"

namespace assay::ASSAY_CUDA_NAMESPACE {
namespace {

using Strings = std::vector<std::string>;
using Four = std::array<std::int64_t, 4>;

constexpr std::int64_t heads = 4, kv_heads = 2, head_dim = 16;

Argument argument(Shape shape, std::int64_t row_stride) {
  return {.present = true, .dtype = DType::bf16, .shape = std::move(shape), .row_stride = row_stride, .packing = {}};
}

/// q, k and v as columns of one joined projection.
Call forward_call(std::int64_t batch, std::int64_t seq) {
  constexpr std::int64_t joined = (heads + 2 * kv_heads) * head_dim;
  const Argument q = argument({batch, seq, heads * head_dim}, joined);
  const Argument k = argument({batch, seq, kv_heads * head_dim}, joined);
  const Argument y = argument({batch, seq, heads * head_dim}, heads * head_dim);
  const Attributes attributes = {
      .heads = heads, .kv_heads = kv_heads, .head_dim = head_dim, .scale = 0.25, .causal = true};
  return {&op::attention, attributes, {q, k, k, Argument{}}, {y}, 1};
}

Call gradient_call(std::int64_t batch, std::int64_t seq) {
  Call call = forward_call(batch, seq);
  call.operation = &op::attention_gradient;
  call.inputs.insert(call.inputs.begin(), call.outputs[0]);
  call.outputs = {call.inputs[1], call.inputs[2], call.inputs[3]};
  return call;
}

const FusedTensor& tensor(const FusedShape& shape, FusedRole role) {
  return *shape.tensors[place(role)];
}

TEST(FusedAttention, SeesHeadsAsColumnsOfAJoinedProjection) {
  const FusedShape shape = fused_forward(forward_call(3, 40));
  EXPECT_FALSE(shape.is_backward());
  EXPECT_EQ(tensor(shape, FusedRole::q).sizes, (Four{3, 4, 40, 16}));
  EXPECT_EQ(tensor(shape, FusedRole::q).strides, (Four{40 * 128, 16, 128, 1}));
  EXPECT_EQ(tensor(shape, FusedRole::k).sizes, (Four{3, 2, 40, 16})) << "two query heads to a key head";
  EXPECT_EQ(tensor(shape, FusedRole::k).strides, (Four{40 * 128, 16, 128, 1}));
  EXPECT_EQ(tensor(shape, FusedRole::y).strides, (Four{40 * 64, 16, 64, 1}));
  EXPECT_FALSE(shape.tensors[place(FusedRole::statistics)]) << "nobody reads them";
}

TEST(FusedAttention, KeepsTheForwardOfAGradientInTheWorkspace) {
  const FusedGradientShapes shapes = fused_gradient(gradient_call(2, 128), 1 << 30);
  EXPECT_FALSE(shapes.forward.is_backward());
  EXPECT_TRUE(shapes.backward.is_backward());
  EXPECT_EQ(tensor(shapes.forward, FusedRole::y).strides, (Four{128 * 64, 16, 64, 1}));
  EXPECT_EQ(tensor(shapes.forward, FusedRole::statistics).dtype, DType::f32);
  EXPECT_EQ(tensor(shapes.forward, FusedRole::statistics).sizes, (Four{2, 4, 128, 1}));
  const Offer offer = prepare_fused_attention_gradient(gradient_call(2, 128), {});
  const std::size_t y_and_statistics = 2 * 128 * 64 * 2 + 2 * 4 * 128 * 4;
  EXPECT_GE(std::get<Prepared>(offer).workspace_bytes, y_and_statistics + 256) << "the library's own lies behind";
}

TEST(FusedAttention, TakesAsManyRowsAsFitAndDivideTheBatch) {
  constexpr std::int64_t row = heads * 128 * 128 * 2;
  const auto rows = [](std::int64_t batch, std::int64_t most) {
    return fused_gradient(gradient_call(batch, 128), most).rows;
  };
  EXPECT_EQ(rows(6, 6 * row), 6);
  EXPECT_EQ(rows(6, 5 * row), 3);
  EXPECT_EQ(rows(7, 5 * row), 1);
  EXPECT_EQ(rows(6, row / 2), 1) << "less than one is not possible";
}

/// Gradients of a batch of four, in parts that fit into so many bytes.
std::vector<Tensor> gradients(std::int64_t most_bytes) {
  const Call call = gradient_call(4, 128);
  const Offer offer = prepare_fused_gradient_in_parts(call, {}, most_bytes);
  const Prepared& prepared = std::get<Prepared>(offer);
  std::vector<Tensor> inputs, outputs;
  std::vector<const std::byte*> in;
  std::vector<std::byte*> out;
  for (std::size_t i = 0; i < 4; ++i) {
    inputs.emplace_back(DType::bf16, Shape{4 * 128, call.in(i).row_stride});
    auto* values = reinterpret_cast<std::uint16_t*>(inputs.back().data());
    for (std::int64_t j = 0; j < 4 * 128 * call.in(i).row_stride; ++j)  // +-1 .. +-2 in no order
      values[j] = static_cast<std::uint16_t>(0x3F80 + ((j * 2654435761 + static_cast<std::int64_t>(i)) >> 7) % 128 +
                                             (j * 40503 % 3 == 0 ? 0x8000 : 0));
  }
  in.reserve(inputs.size() + 1);
  for (const Tensor& one : inputs) in.push_back(one.data());
  in.push_back(nullptr);
  for (std::size_t i = 0; i < 3; ++i) outputs.emplace_back(DType::bf16, Shape{4 * 128, call.out(i).row_stride});
  for (Tensor& one : outputs) {
    std::fill_n(one.data(), one.bytes(), std::byte{0});  // rows are wider than what is written
    out.push_back(one.data());
  }
  const AlignedBytes workspace = allocate_aligned(prepared.workspace_bytes);
  prepared.kernel->run({in, out, workspace.get()});
  return outputs;
}

TEST(FusedAttention, MakesTheSameGradientsInParts) {
  constexpr std::int64_t row = heads * 128 * 128 * 2;
  const std::vector<Tensor> whole = gradients(4 * row);
  const std::vector<Tensor> parts = gradients(2 * row);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(std::memcmp(whole[i].data(), parts[i].data(), whole[i].bytes()), 0) << i;
    EXPECT_NE(std::count(whole[i].data(), whole[i].data() + whole[i].bytes(), std::byte{0}),
              static_cast<std::ptrdiff_t>(whole[i].bytes()));
  }
}

TEST(FusedAttention, SaysWhyItDoesNotTakeACall) {
  const auto fault_with = [](Call call, auto change) {
    change(call);
    return fused_fault(call, {});
  };
  const auto nothing = [](Call&) {};
  EXPECT_EQ(fault_with(forward_call(2, 40), nothing), "");
  EXPECT_EQ(fault_with(gradient_call(2, 256), nothing), "");
  EXPECT_EQ(fault_with(gradient_call(2, 40), nothing), "40 tokens are no multiple of 128");
  EXPECT_EQ(fault_with(forward_call(0, 40), nothing), "there are no rows");
  EXPECT_EQ(fault_with(forward_call(1, 40), [](Call& c) { c.inputs[0].dtype = DType::f32; }), "it multiplies no f32");
  EXPECT_EQ(fault_with(forward_call(1, 40), [](Call& c) { c.inputs[0].dtype = DType::tf32; }), "it multiplies no tf32");
  EXPECT_EQ(fault_with(forward_call(1, 40), [](Call& c) { c.outputs[0].dtype = DType::f32; }),
            "the tensors' dtypes differ");
  EXPECT_EQ(fault_with(forward_call(1, 40), [](Call& c) { c.inputs[3].present = true; }),
            "it takes lengths, not a mask of keys");
  EXPECT_EQ(fault_with(forward_call(1, 40), [](Call& c) { c.inputs[1].row_stride += 4; }),
            "rows begin at no multiple of 16 bytes");
  EXPECT_EQ(fault_with(forward_call(1, 40), [](Call& c) { c.attributes.head_dim = 12; }),
            "heads of 12 are no multiple of 16 bytes");
  EXPECT_EQ(fault_with(gradient_call(1, 128), [](Call& c) { c.outputs[1].present = false; }),
            "not all three gradients are wanted");
}

TEST(FusedAttention, IsNotAskedOfTuringGpus) {
  MachineFacts facts;
  facts.gpu.emplace().capability = {7, 5};
  EXPECT_EQ(fused_fault(forward_call(1, 40), facts), "it begins at compute capability 8.0");
  facts.gpu->capability = {8, 0};
  EXPECT_EQ(fused_fault(forward_call(1, 40), facts), "");
}

TEST(FusedAttention, TheEvidenceSaysWhatKeptItFromACall) {
  Call call = forward_call(1, 40);
  const auto prepared = [&call] {
    Offer offer = prepare(cuda_on_host_backend(), call, {});
    return std::get<Prepared>(std::move(offer));
  };
  EXPECT_EQ(prepared().description, "fused: loops in cuDNN's place");
  EXPECT_EQ(prepared().evidence.find("cudnn"), std::string::npos);
  call.inputs[3] = argument({1, 40}, 40);
  call.inputs[3].dtype = DType::u8;
  EXPECT_EQ(prepared().description.rfind("stored f32 scores", 0), 0U);
  EXPECT_NE(prepared().evidence.find("; not cudnn: it takes lengths, not a mask of keys"), std::string::npos);
}

TEST(FusedShape, KeyTellsLayoutsScalesAndMasksApart) {
  const FusedShape shape = fused_forward(forward_call(2, 40));
  FusedShape other = shape;
  EXPECT_EQ(other.key(), shape.key());
  other.causal = false;
  EXPECT_NE(other.key(), shape.key());
  other = shape;
  other.scale *= 2;
  EXPECT_NE(other.key(), shape.key());
  other = shape;
  other.tensors[place(FusedRole::v)]->strides[2] += 8;
  EXPECT_NE(other.key(), shape.key());
  EXPECT_NE(fused_gradient(gradient_call(2, 128), 1 << 30).forward.key(), fused_forward(forward_call(2, 128)).key())
      << "with and without statistics";
}

TEST(Libraries, AreLookedForWhereAskedFirst) {
  EXPECT_EQ(library_folders(nullptr, "/built"), (Strings{"", "/usr/local/cuda/lib64/", "/built/"}));
  EXPECT_EQ(library_folders("/a:/b", "/built:/with"),
            (Strings{"/a/", "/b/", "", "/usr/local/cuda/lib64/", "/built/", "/with/"}));
  EXPECT_EQ(library_folders(":/a:", ""), (Strings{"/a/", "", "/usr/local/cuda/lib64/"}));
}

TEST(Libraries, AreTakenFromTheFirstFolderThatHasThem) {
  EXPECT_NE(open_library("libm.so.6", {"/nowhere/", ""}), nullptr);
  EXPECT_EQ(open_library("libm.so.6", {"/nowhere/"}), nullptr);
  EXPECT_EQ(open_library("libcudnn-of-nobody.so.9", library_folders(nullptr, "")), nullptr);
}

}  // namespace
}  // namespace assay::ASSAY_CUDA_NAMESPACE
