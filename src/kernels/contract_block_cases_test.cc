#include "kernels/contract_cases.h"

namespace assay::contract {
namespace {

Filled weight_in(const BlockFormat& format, std::int64_t rows, std::int64_t values) {
  return {constant(DType::u8, {rows, format.bytes_of(values)}), Fill::blocks};
}

/// One block wide, several, and more than one chunk of K; a last block that is not filled; one row of x and of W, odd
/// ones, none.
struct BlockShape {
  Shape rows;
  std::int64_t blocks;
  std::int64_t out;
  std::int64_t lacking = 0;  ///< Values of the last block.

  std::int64_t in(const BlockFormat& format) const { return blocks * format.elements - lacking; }
};
const BlockShape block_shapes[] = {{{40}, 1, 1},  {{3}, 2, 33}, {{2, 5}, 3, 96},   {{0}, 1, 16},
                                   {{27}, 1, 65}, {{1}, 3, 40}, {{13}, 2, 34, 19}, {{4}, 1, 72, 31}};

void add_block_linear(std::vector<Case>& cases, const Operation& operation, const BlockFormat& format,
                      const BlockShape& s, DType x, DType out) {
  Shape x_shape = s.rows;
  x_shape.push_back(s.in(format));
  Shape y_shape = s.rows;
  y_shape.push_back(s.out);
  const Filled weight = weight_in(format, s.out, s.in(format));
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

std::vector<Case> block_gradient_cases(const Operation& operation) {
  std::vector<Case> cases;
  for (const BlockFormat* format : block_formats()) {
    for (const DType dtype : floats) {
      for (const BlockShape& s : block_shapes) {
        Shape dy_shape = s.rows;
        dy_shape.push_back(s.out);
        Shape dx_shape = s.rows;
        dx_shape.push_back(s.in(*format));
        const Filled onto = s.out % 2 == 0 ? Filled{dense(dtype, dx_shape)} : Filled{Argument{}};
        add(cases, operation, {.width = s.in(*format), .blocks = format},
            {{window(dtype, dy_shape, 3)}, weight_in(*format, s.out, s.in(*format)), onto}, {dense(dtype, dx_shape)});
      }
    }
  }
  return cases;
}

std::vector<Case> quantized_block_linear_cases(const Operation& operation) {
  std::vector<Case> cases;
  for (const BlockFormat* format : block_formats()) {
    if (!format->table.empty()) continue;
    for (const BlockShape& s : block_shapes) {
      for (const DType out : {DType::f32, DType::bf16}) {
        Shape x_shape = s.rows;
        x_shape.push_back(s.in(*format));
        Shape scale_shape = s.rows;
        scale_shape.push_back(activation_groups(s.in(*format)));
        Shape y_shape = s.rows;
        y_shape.push_back(s.out);
        const Filled x = {dense(DType::s8, x_shape), Fill::whole};
        const Filled x_scale = {dense(DType::f32, scale_shape), Fill::small};
        const bool is_f32 = out == DType::f32;
        add(cases, operation, {.activation = is_f32 ? Activation::none : Activation::silu, .blocks = format},
            {x,
             x_scale,
             weight_in(*format, s.out, s.in(*format)),
             {is_f32 ? Argument{} : constant(DType::f32, {s.out})}},
            {window(out, y_shape, 8)});
      }
    }
  }
  return cases;
}

std::vector<Case> quantize_groups_cases(const Operation& operation) {
  std::vector<Case> cases;
  for (const DType x : floats) {
    for (const Shape& shape : {Shape{1, 1}, {3, 33}, {2, 5, 64}, {0, 40}, {17, 576}}) {
      Shape scales = shape;
      scales.back() = activation_groups(shape.back());
      for (const Fill fill : {Fill::normal, Fill::with_zeros})
        add(cases, operation, {}, {{window(x, shape, 8), fill}}, {dense(DType::s8, shape), dense(DType::f32, scales)});
    }
  }
  return cases;
}

std::vector<Case> quantize_blocks_cases(const Operation& operation) {
  std::vector<Case> cases;
  for (const BlockFormat* format : block_formats()) {
    if (!format->can_be_made()) continue;
    for (const std::int64_t width : {format->elements, 3 * format->elements - 7})
      add(cases, operation, {.blocks = format}, {{constant(DType::f32, {5, width}), Fill::weights}},
          {dense(DType::u8, {5, format->bytes_of(width)})});
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
      add(cases, operation, {.width = format->elements + 5, .blocks = format},
          {{dense(DType::s32, {1, 3}), Fill::ids}, weight_in(*format, 7, format->elements + 5)},
          {dense(out, {1, 3, format->elements + 5})});
      add(cases, operation, {.blocks = format},
          {{dense(DType::s32, {0, 5}), Fill::ids}, weight_in(*format, 11, format->elements)},
          {dense(out, {0, 5, format->elements})});
    }
  }
  return cases;
}

}  // namespace assay::contract
