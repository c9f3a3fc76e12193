#include "base/error.h"
#include "program/operation.h"

namespace assay {
namespace {

std::int64_t row_values(const Program& program, const Node& node) {
  ASSAY_ASSERT(node.attributes.blocks != nullptr && input(program, node, 1).dtype == DType::u8);
  return node.attributes.blocks->values_in(input(program, node, 1).shape[1].factor);
}

std::vector<SymbolicShape> block_product_shape(const Program& program, const Node& node) {
  return {
      product_shape(input(program, node, 0).shape, {input(program, node, 1).shape[0], dim(row_values(program, node))})};
}

std::vector<SymbolicShape> decoded_shape(const Program& program, const Node& node) {
  SymbolicShape shape = input(program, node, 0).shape;
  shape.push_back(dim(row_values(program, node)));
  return {shape};
}

/// Only the rows that the ids name are read.
double decoded_bytes(const Program& program, const Node& node, Extent extent) {
  return static_cast<double>(storage_bytes(program, node.outputs[0], extent)) +
         input_count(program, node, 0, extent) * static_cast<double>(input(program, node, 1).shape[1].factor);
}

}  // namespace

// y = f(x W^T + b)    x: (.., in), W: (out, in) as rows of blocks of attributes.blocks, u8 (out, bytes of a row),
// b: (out), y: (.., out); f is attributes.activation
const Operation op::block_linear = {
    .name = "block_linear",
    .kind = OperationKind::matmul,
    .autocast = Autocast::low_precision,
    .shapes = block_product_shape,
    .flops = matmul_flops<1>,
    .bytes = read_once_write_once,
    .products = ProductShare::all,
};

// y[b, t] = the values of row ids[b, t]    rows of blocks of attributes.blocks, u8 (V, bytes of a row)
const Operation op::block_embedding = {
    .name = "block_embedding",
    .kind = OperationKind::embedding,
    .autocast = Autocast::widest,
    .shapes = decoded_shape,
    .flops = no_work,
    .bytes = decoded_bytes,
};

}  // namespace assay
