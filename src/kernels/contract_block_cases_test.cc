#include "kernels/contract_cases.h"

namespace assay::contract {
namespace {

Filled weight_in(const BlockFormat& format, std::int64_t rows, std::int64_t values) {
  return {constant(DType::u8, {rows, format.bytes_of(values)}), Fill::blocks};
}

/// One block wide, several, and more than one chunk of K; one row of x and of W, odd ones, none.
struct BlockShape {
  Shape rows;
  std::int64_t blocks;
  std::int64_t out;
};
const BlockShape block_shapes[] = {{{40}, 1, 1}, {{3}, 2, 33},  {{2, 5}, 3, 96},
                                   {{0}, 1, 16}, {{27}, 1, 65}, {{1}, 3, 40}};

void add_block_linear(std::vector<Case>& cases, const Operation& operation, const BlockFormat& format,
                      const BlockShape& s, DType x, DType out) {
  Shape x_shape = s.rows;
  x_shape.push_back(s.blocks * format.elements);
  Shape y_shape = s.rows;
  y_shape.push_back(s.out);
  const Filled weight = weight_in(format, s.out, s.blocks * format.elements);
  add(cases, operation, {.blocks = &format}, {{dense(x, x_shape)}, weight, {Argument{}}}, {dense(out, y_shape)});
  add(cases, operation, {.activation = Activation::silu, .blocks = &format},
      {{window(x, x_shape, 16)}, weight, {constant(DType::f32, {s.out})}}, {window(out, y_shape, 8)});
}

}  // namespace

std::vector<Case> block_linear_cases(const Operation& operation) {
  std::vector<Case> cases;
  for (const BlockFormat* format : block_formats()) {
    for (const DType x : floats) {
      for (const BlockShape& s : block_shapes) add_block_linear(cases, operation, *format, s, x, x);
    }
    add_block_linear(cases, operation, *format, block_shapes[2], DType::bf16, DType::f32);
  }
  return cases;
}

std::vector<Case> block_embedding_cases(const Operation& operation) {
  std::vector<Case> cases;
  for (const BlockFormat* format : block_formats()) {
    for (const DType out : floats) {
      for (const std::int64_t blocks : {1, 3})
        add(cases, operation, {.blocks = format},
            {{dense(DType::s32, {2, 5}), Fill::ids}, weight_in(*format, 11, blocks * format->elements)},
            {dense(out, {2, 5, blocks * format->elements})});
      add(cases, operation, {.blocks = format},
          {{dense(DType::s32, {0, 5}), Fill::ids}, weight_in(*format, 11, format->elements)},
          {dense(out, {0, 5, format->elements})});
    }
  }
  return cases;
}

}  // namespace assay::contract
