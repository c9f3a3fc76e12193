#include "base/error.h"
#include "program/gradient.h"
#include "program/operation.h"

namespace assay {
namespace {

const SymbolicShape& rows_of_blocks(const Program& program, const Node& node, std::size_t place) {
  const Value& weight = input(program, node, place);
  ASSAY_ASSERT(node.attributes.blocks != nullptr && weight.dtype == DType::u8 && weight.shape.size() == 2);
  return weight.shape;
}

/// Rows of W hold whole blocks: what stands behind x's width in the last one is zero.
template <std::size_t weight>
std::vector<SymbolicShape> block_product_shape(const Program& program, const Node& node) {
  const SymbolicShape& blocks = rows_of_blocks(program, node, weight);
  SymbolicShape shape = input(program, node, 0).shape;
  ASSAY_ASSERT(node.attributes.blocks->bytes_of(shape.back().factor) == blocks[1].factor);
  shape.back() = blocks[0];
  return {shape};
}

std::vector<SymbolicShape> decoded_shape(const Program& program, const Node& node) {
  const std::int64_t row_bytes = rows_of_blocks(program, node, 1)[1].factor;
  const std::int64_t width = node.attributes.width;
  ASSAY_ASSERT(width == 0 || node.attributes.blocks->bytes_of(width) == row_bytes);
  SymbolicShape shape = input(program, node, 0).shape;
  shape.push_back(dim(width == 0 ? node.attributes.blocks->values_in(row_bytes) : width));
  return {shape};
}

/// Only the rows that the ids name are read.
double decoded_bytes(const Program& program, const Node& node, Extent extent) {
  return static_cast<double>(storage_bytes(program, node.outputs[0], extent)) +
         input_count(program, node, 0, extent) * static_cast<double>(input(program, node, 1).shape[1].factor);
}

/// Of x alone: codes are not trained. Their rows do not say where a last block ends.
void block_linear_rule(GradientBuilder& g, const Node& node) {
  ASSAY_ASSERT(node.attributes.activation == Activation::none);
  const Attributes attributes = {.width = g.width_of(node.inputs[0]), .blocks = node.attributes.blocks};
  give_result(g, node, 0, op::block_linear_input_gradient, {g.of_output(0), node.inputs[1]}, attributes);
}

std::vector<SymbolicShape> block_gradient_shape(const Program& program, const Node& node) {
  const SymbolicShape& blocks = rows_of_blocks(program, node, 1);
  SymbolicShape shape = input(program, node, 0).shape;
  ASSAY_ASSERT(shape.back() == blocks[0]);
  ASSAY_ASSERT(node.attributes.blocks->bytes_of(node.attributes.width) == blocks[1].factor);
  shape.back() = dim(node.attributes.width);
  ASSAY_ASSERT(!has_input(node, 2) || input(program, node, 2).shape == shape);
  return {shape};
}

double block_gradient_flops(const Program& program, const Node& node, Extent extent) {
  return 2.0 * input_count(program, node, 0, extent) * static_cast<double>(node.attributes.width);
}

}  // namespace

// y = f(x W^T + b)    x: (.., in), W: (out, in) as rows of blocks of attributes.blocks, u8 (out, bytes of a row),
// b: (out), y: (.., out); f is attributes.activation. A row's last block is filled up with zeros.
const Operation op::block_linear = {
    .name = "block_linear",
    .kind = OperationKind::matmul,
    .autocast = Autocast::low_precision,
    .shapes = block_product_shape<1>,
    .flops = matmul_flops<1>,
    .bytes = read_once_write_once,
    .gradient = block_linear_rule,
    .products = ProductShare::all,
};

// dx = dy W + onto    dy: (.., out), W as block_linear has it, of attributes.width values a row, onto, dx: (.., in)
const Operation op::block_linear_input_gradient = {
    .name = "block_linear_input_gradient",
    .kind = OperationKind::matmul,
    .autocast = Autocast::low_precision,
    .shapes = block_gradient_shape,
    .flops = block_gradient_flops,
    .bytes = read_once_write_once,
    .in_place = 2,
    .products = ProductShare::all,
};

// y = f(sum over groups j of x_scale[j] (scale sum_k xq q - minimum sum_k xq) + b)
//
// inputs: xq s8 (.., in), x_scale f32 (.., groups of 32 inputs) as quantize_groups makes them, W as block_linear has it
// (x = scale q - minimum in each of its groups), b (out) or absent. Sums of a group are of integers, in s32; those over
// groups are of f32.
const Operation op::quantized_block_linear = {
    .name = "quantized_block_linear",
    .kind = OperationKind::matmul,
    .autocast = Autocast::low_precision,
    .shapes = block_product_shape<2>,
    .flops = matmul_flops<2>,
    .bytes = read_once_write_once,
    .products = ProductShare::all,
};

// y[b, t] = the first attributes.width values of row ids[b, t] (0: all)    rows of blocks of attributes.blocks, u8 (V,
// bytes of a row)
const Operation op::block_embedding = {
    .name = "block_embedding",
    .kind = OperationKind::embedding,
    .autocast = Autocast::widest,
    .shapes = decoded_shape,
    .flops = no_work,
    .bytes = decoded_bytes,
};

}  // namespace assay
