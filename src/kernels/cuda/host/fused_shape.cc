#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kernels/cuda/host/fused_attention.h"

namespace assay::ASSAY_CUDA_NAMESPACE {
namespace {

constexpr std::int64_t alignment = 16;  ///< Bytes that the library moves at once.

Geometry geometry(const Argument& q, const Call& call) {
  return geometry_of(call, q.shape[0], q.shape[1]);
}

/// Heads that lie beside one another in rows of tokens.
FusedTensor heads_of(const Geometry& g, const Argument& argument, std::int64_t heads) {
  const std::int64_t row = argument.row_stride;
  return {argument.dtype, {g.batches, heads, g.seq, g.head_dim}, {g.seq * row, g.head_dim, row, 1}};
}

/// The same with nothing between rows.
FusedTensor dense_heads(const Geometry& g, DType dtype) {
  const std::int64_t row = g.heads * g.head_dim;
  return {dtype, {g.batches, g.heads, g.seq, g.head_dim}, {g.seq * row, g.head_dim, row, 1}};
}

FusedTensor statistics_of(const Geometry& g) {
  return {DType::f32, {g.batches, g.heads, g.seq, 1}, {g.heads * g.seq, g.seq, 1, 1}};
}

FusedShape shape_of(const Call& call) {
  FusedShape shape;
  shape.scale = call.attributes.scale;
  shape.causal = call.attributes.causal;
  return shape;
}

void set_inputs(FusedShape& shape, const Geometry& g, const Argument& q, const Argument& k, const Argument& v) {
  shape.tensors[place(FusedRole::q)] = heads_of(g, q, g.heads);
  shape.tensors[place(FusedRole::k)] = heads_of(g, k, g.kv_heads);
  shape.tensors[place(FusedRole::v)] = heads_of(g, v, g.kv_heads);
}

/// Parts are of one size, so that one plan does.
std::int64_t rows_of_gradient(const Geometry& g, std::int64_t most_bytes) {
  std::int64_t rows = g.batches;
  while (rows > 1 && (g.batches % rows != 0 || rows * g.heads * g.seq * g.seq * 2 > most_bytes)) --rows;
  return rows;
}

std::string fault_of_tensor(const Argument& argument, DType dtype, std::int64_t head_dim) {
  if (argument.dtype != dtype) return "the tensors' dtypes differ";
  const auto bytes = static_cast<std::int64_t>(size_of(dtype));
  if (head_dim * bytes % alignment != 0) return fmt::format("heads of {} are no multiple of 16 bytes", head_dim);
  if (argument.row_stride * bytes % alignment != 0) return "rows begin at no multiple of 16 bytes";
  return "";
}

/// Backwards of other lengths came out as NaN in several versions (github.com/NVIDIA/cudnn-frontend issue 160,
/// github.com/pytorch/pytorch issue 196678).
constexpr std::int64_t whole_tiles = 128;

std::string fault_of_gradient(const Call& call, const Geometry& g) {
  for (std::size_t i = 0; i < 3; ++i) {
    if (!call.out(i).present) return "not all three gradients are wanted";
  }
  if (g.seq % whole_tiles != 0) return fmt::format("{} tokens are no multiple of {}", g.seq, whole_tiles);
  return "";
}

}  // namespace

std::string FusedShape::key() const {
  std::string words = fmt::format("{} {}", scale, causal ? "causal" : "all");
  for (const std::optional<FusedTensor>& tensor : tensors) {
    words += tensor ? fmt::format(" {}:{}/{}", name(tensor->dtype), fmt::join(tensor->sizes, "x"),
                                  fmt::join(tensor->strides, "+"))
                    : " -";
  }
  return words;
}

std::string fused_fault(const Call& call, const MachineFacts& facts) {
  const bool is_gradient = call.operation == &op::attention_gradient;
  const Argument& q = call.in(is_gradient ? 1 : 0);
  const Argument& mask = call.in(is_gradient ? 4 : 3);
  const Geometry g = geometry(q, call);
  if (g.batches == 0) return "there are no rows";
  if (q.dtype != DType::f16 && q.dtype != DType::bf16) return fmt::format("it multiplies no {}", name(q.dtype));
  if (size_of(call.attributes.math) != 4) return "its softmax computes in f32";
  if (mask.present) return "it takes lengths, not a mask of keys";
  if (call.attributes.cap > 0) return "it is asked for no soft cap";
  if (call.attributes.window > 0) return "it is asked for no window";
  if (facts.gpu && facts.gpu->capability < ComputeCapability{8, 0}) return "it begins at compute capability 8.0";
  if (std::string fault = is_gradient ? fault_of_gradient(call, g) : ""; !fault.empty()) return fault;
  for (const std::vector<Argument>* arguments : {&call.inputs, &call.outputs}) {
    for (const Argument& argument : *arguments) {
      if (!argument.present) continue;
      if (std::string fault = fault_of_tensor(argument, q.dtype, g.head_dim); !fault.empty()) return fault;
    }
  }
  return "";
}

FusedShape fused_forward(const Call& call) {
  const Geometry g = geometry(call.in(0), call);
  FusedShape shape = shape_of(call);
  set_inputs(shape, g, call.in(0), call.in(1), call.in(2));
  shape.tensors[place(FusedRole::y)] = heads_of(g, call.out(0), g.heads);
  return shape;
}

FusedGradientShapes fused_gradient(const Call& call, std::int64_t most_bytes) {
  Geometry g = geometry(call.in(1), call);
  g.batches = rows_of_gradient(g, most_bytes);
  FusedShape shape = shape_of(call);
  set_inputs(shape, g, call.in(1), call.in(2), call.in(3));
  shape.tensors[place(FusedRole::y)] = dense_heads(g, call.in(1).dtype);
  shape.tensors[place(FusedRole::statistics)] = statistics_of(g);
  FusedGradientShapes shapes{shape, shape, g.batches};
  shapes.backward.tensors[place(FusedRole::dy)] = heads_of(g, call.in(0), g.heads);
  shapes.backward.tensors[place(FusedRole::dq)] = heads_of(g, call.out(0), g.heads);
  shapes.backward.tensors[place(FusedRole::dk)] = heads_of(g, call.out(1), g.kv_heads);
  shapes.backward.tensors[place(FusedRole::dv)] = heads_of(g, call.out(2), g.kv_heads);
  return shapes;
}

}  // namespace assay::ASSAY_CUDA_NAMESPACE
