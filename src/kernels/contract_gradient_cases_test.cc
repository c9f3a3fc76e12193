#include <functional>

#include "kernels/contract_cases.h"

// Cases of gradients, losses and optimizers.

namespace assay::contract {
namespace {

/// Dtypes of a product in training: both factors as they are stored, the dtype that the second is rounded to, the
/// result.
struct ProductDtypes {
  DType left;
  DType right;
  DType operand;
  DType result;
};
constexpr ProductDtypes products[] = {
    {DType::f32, DType::f32, DType::f32, DType::f32},    {DType::bf16, DType::bf16, DType::f32, DType::bf16},
    {DType::bf16, DType::f32, DType::bf16, DType::bf16}, {DType::bf16, DType::bf16, DType::f32, DType::f32},
    {DType::f16, DType::f16, DType::f32, DType::f16},    {DType::f16, DType::f32, DType::f16, DType::f16},
    {DType::f16, DType::f16, DType::f32, DType::f32},    {DType::tf32, DType::f32, DType::tf32, DType::f32},
    {DType::f32, DType::f32, DType::tf32, DType::f32},   {DType::f32, DType::tf32, DType::f32, DType::f32},
};

struct ProductShape {
  std::int64_t rows, in, out;
};
constexpr ProductShape product_shapes[] = {{1, 16, 8},     {5, 33, 17}, {3, 1, 1},      {64, 128, 96},
                                           {70, 515, 130}, {0, 16, 24}, {130, 96, 300}, {37, 64, 1030}};

void for_products(const std::function<void(const ProductDtypes&, const ProductShape&)>& use) {
  for (const ProductDtypes& dtypes : products) {
    for (const ProductShape& shape : product_shapes) use(dtypes, shape);
  }
}

void for_widths(const std::function<void(const Shape&, std::int64_t)>& use) {
  for (const std::int64_t width : {1, 7, 64, 129}) use({3, width}, 0);
  use({5, 33}, 11);
  use({0, 16}, 0);
  use({2, 3, 40}, 8);
  use({70, 515}, 0);
}

}  // namespace

std::vector<Case> trained_linear_cases(const Operation& operation) {
  std::vector<Case> cases;
  for_products([&](const ProductDtypes& d, const ProductShape& s) {
    for (const bool has_bias : {false, true}) {
      const Filled bias = has_bias ? Filled{dense(DType::f32, {s.out})} : Filled{Argument{}};
      add(cases, operation, {.operand = d.operand},
          {{window(d.left, {s.rows, s.in}, 3)}, {dense(d.right, {s.out, s.in}), Fill::weights}, bias},
          {dense(d.result, {s.rows, s.out})});
    }
  });
  return cases;
}

std::vector<Case> linear_gradient_cases(const Operation& operation) {
  std::vector<Case> cases;
  for_products([&](const ProductDtypes& d, const ProductShape& s) {
    if (&operation == &op::linear_weight_gradient) {
      if (d.right != d.left) return;
      add(cases, operation, {}, {{window(d.left, {s.rows, s.out}, 5)}, {window(d.right, {s.rows, s.in}, 3)}},
          {dense(d.result, {s.out, s.in})});
      return;
    }
    for (const bool has_onto : {false, true}) {
      const Filled onto = has_onto ? Filled{dense(d.result, {s.rows, s.in})} : Filled{Argument{}};
      for (const Argument& weight : {dense(d.right, {s.out, s.in}), constant(d.right, {s.out, s.in})})
        add(cases, operation, {.operand = d.operand},
            {{window(d.left, {s.rows, s.out}, 5)}, {weight, Fill::weights}, onto}, {dense(d.result, {s.rows, s.in})});
    }
  });
  return cases;
}

/// Through weights that are not trained, as their forward products hold them, and as they are.
std::vector<Case> frozen_linear_cases(const Operation& operation) {
  std::vector<Case> cases;
  for (const DType dtype : floats) {
    for (const ProductShape& s : product_shapes) {
      for (const bool has_onto : {false, true}) {
        const Filled onto = has_onto ? Filled{dense(dtype, {s.rows, s.in})} : Filled{Argument{}};
        add(cases, operation, {},
            {{window(dtype, {s.rows, s.out}, 5)},
             {constant(DType::s8, {s.out, s.in}), Fill::whole},
             {constant(DType::f32, {s.out}), Fill::small},
             onto},
            {window(dtype, {s.rows, s.in}, 2)});
      }
    }
  }
  return cases;
}

std::vector<Case> sum_rows_cases(const Operation& operation) {
  std::vector<Case> cases;
  for (const DType in : floats) {
    for (const DType out : {DType::f32, in}) {
      for_widths([&](const Shape& shape, std::int64_t more) {
        add(cases, operation, {}, {{window(in, shape, more)}}, {dense(out, {shape.back()})});
      });
    }
  }
  return cases;
}

std::vector<Case> norm_gradient_cases(const Operation& operation) {
  std::vector<Case> cases;
  for (const DType in : floats) {
    for_widths([&](const Shape& shape, std::int64_t more) {
      for (const bool has_onto : {false, true}) {
        const Filled onto = has_onto ? Filled{dense(in, shape)} : Filled{Argument{}};
        std::vector<Argument> outputs = {dense(in, shape), dense(DType::f32, {shape.back()})};
        if (&operation == &op::layer_norm_gradient) outputs.push_back(dense(DType::f32, {shape.back()}));
        if (shape.back() == 33) outputs[1].present = false;
        add(cases, operation, {.epsilon = 1e-2},
            {{dense(in, shape)},
             {window(in, shape, more)},
             {dense(DType::f32, {shape.back()}), Fill::around_one},
             onto},
            outputs);
      }
    });
    if (&operation == &op::layer_norm_gradient) continue;
    for (const std::int64_t head_dim : {1, 5, 64}) {
      const Shape shape = {2, 9, 3 * head_dim};
      add(cases, operation, {.epsilon = 1e-2},
          {{dense(in, shape)},
           {window(in, shape, 7)},
           {dense(DType::f32, {head_dim}), Fill::around_one},
           {dense(in, shape)}},
          {dense(in, shape), dense(DType::f32, {head_dim})});
    }
  }
  return cases;
}

constexpr Activation every_activation[] = {Activation::none,      Activation::relu, Activation::gelu_erf,
                                           Activation::gelu_tanh, Activation::silu, Activation::tanh};

std::vector<Case> activation_gradient_cases(const Operation& operation) {
  std::vector<Case> cases;
  for (const DType dtype : floats) {
    for_widths([&](const Shape& shape, std::int64_t more) {
      for (const Activation activation : every_activation)
        add(cases, operation, {.activation = activation}, {{dense(dtype, shape)}, {window(dtype, shape, more)}},
            {dense(dtype, shape)});
    });
  }
  return cases;
}

/// The factor's dtypes may differ from the gate's, and either output may be absent.
std::vector<Case> gate_gradient_cases(const Operation& operation) {
  std::vector<Case> cases;
  const auto add_cases = [&](DType gate, DType factor, const Shape& shape, std::int64_t more) {
    const std::vector<Filled> inputs = {{dense(gate, shape)}, {window(gate, shape, more)}, {dense(factor, shape)}};
    const Argument dx = dense(gate, shape);
    const Argument dy = dense(factor, shape);
    for (const Activation activation : every_activation)
      add(cases, operation, {.activation = activation}, inputs, {dx, dy});
    add(cases, operation, {.activation = Activation::silu}, inputs, {dx, Argument{}});
    add(cases, operation, {.activation = Activation::silu}, inputs, {Argument{}, dy});
  };
  for (const DType gate : floats) {
    for (const DType factor : floats) {
      for_widths([&](const Shape& shape, std::int64_t more) { add_cases(gate, factor, shape, more); });
    }
  }
  return cases;
}

std::vector<Case> attention_gradient_cases(const Operation& operation) {
  std::vector<Case> cases;
  struct Heads {
    std::int64_t heads, kv_heads, head_dim;
  };
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::tf32}) {
    for (const Heads h : {Heads{3, 3, 8}, Heads{4, 2, 5}, Heads{2, 1, 64}}) {
      for (const std::int64_t seq : {1, 7, 33, 128, 130}) {
        for (const bool causal : {false, true}) {
          const Attributes a = {
              .heads = h.heads, .kv_heads = h.kv_heads, .head_dim = h.head_dim, .scale = 0.3, .causal = causal};
          // One key head in all for three threads: they have to share it.
          const std::int64_t batch = h.kv_heads == 1 ? 1 : 2;
          const Shape matrix = {batch, h.heads, seq, seq};
          // cuDNN wants whole tiles of 128 tokens, and rows at multiples of 16 bytes.
          const bool is_whole = seq % 128 == 0;
          const Shape queries = {batch, seq, h.heads * h.head_dim};
          const Shape keys = {batch, seq, h.kv_heads * h.head_dim};
          if (&operation == &op::softmax_gradient) {
            add(cases, operation, a, {{dense(dtype, matrix)}, {dense(dtype, matrix), Fill::small}},
                {dense(dtype, matrix)});
          } else if (&operation == &op::attention_context_transposed) {
            add(cases, operation, a, {{dense(dtype, matrix)}, {window(dtype, queries, 4)}}, {dense(dtype, keys)});
          } else {
            const Filled mask = seq % 2 == 0
                                    ? Filled{Argument{}}
                                    : Filled{dense(DType::u8, {batch, seq}), causal ? Fill::right_padded : Fill::holes};
            const std::vector<Filled> inputs = {{dense(dtype, queries)},
                                                {window(dtype, queries, is_whole ? 8 : 4)},
                                                {dense(dtype, keys)},
                                                {window(dtype, keys, is_whole ? 16 : 7)},
                                                mask};
            const std::vector<Argument> outputs = {dense(dtype, queries), dense(dtype, keys), dense(dtype, keys)};
            add(cases, operation, a, inputs, outputs);
            for (const std::int64_t window : {1, 12, 64}) {
              Attributes near = a;
              near.window = window;
              if (seq > 7) add(cases, operation, near, inputs, outputs);
            }
            Attributes capped = a;
            capped.cap = 0.8;
            if (seq == 33) add(cases, operation, capped, inputs, outputs);
            Attributes rounded = a;
            rounded.math = dtype;
            if (size_of(dtype) == 2 && seq < 50) add(cases, operation, rounded, inputs, outputs);
          }
        }
      }
    }
  }
  return cases;
}

std::vector<Case> embedding_gradient_cases(const Operation& operation) {
  std::vector<Case> cases;
  for (const DType dtype : floats) {
    for (const DType out : {DType::f32, dtype}) {
      for (const std::int64_t width : {1, 33, 128}) {
        for (const bool has_onto : {false, true}) {
          const Filled onto = has_onto ? Filled{dense(out, {300, width})} : Filled{Argument{}};
          const Filled ids = {dense(DType::s32, {2, 40}), Fill::few_ids};
          add(cases, operation, {.rows = 300, .padding_id = width == 33 ? 3 : -1},
              {ids, {dense(dtype, {2, 40, width})}, onto}, {dense(out, {300, width})});
        }
      }
    }
  }
  return cases;
}

std::vector<Case> add_rows_gradient_cases(const Operation& operation) {
  std::vector<Case> cases;
  for (const DType dtype : floats) {
    for (const Shape& shape : {Shape{2, 5, 33}, Shape{1, 1, 64}, Shape{0, 4, 16}, Shape{3, 20, 768}}) {
      for (const RowChoice row : {RowChoice::by_position, RowChoice::first})
        add(cases, operation, {.row = row, .rows = 32}, {{window(dtype, shape, 3)}},
            {dense(DType::f32, {32, shape[2]})});
    }
  }
  return cases;
}

std::vector<Case> spreading_cases(const Operation& operation) {
  std::vector<Case> cases;
  for (const DType dtype : floats) {
    for (const Shape& shape : {Shape{2, 5, 33}, Shape{1, 1, 64}, Shape{0, 4, 16}, Shape{7, 20, 384}}) {
      const Filled dy = {dense(dtype, {shape[0], shape[2]})};
      if (&operation == &op::mean_pool_gradient) {
        for (const Fill fill : {Fill::right_padded, Fill::holes})
          add(cases, operation, {}, {dy, {dense(DType::u8, {shape[0], shape[1]}), fill}}, {dense(dtype, shape)});
        add(cases, operation, {}, {dy, {Argument{}}}, {dense(dtype, shape)});
      } else {
        for (const RowChoice row : {RowChoice::first, RowChoice::last})
          add(cases, operation, {.row = row}, {dy}, {dense(dtype, shape)});
      }
    }
  }
  return cases;
}

std::vector<Case> concat_columns_cases(const Operation& operation) {
  std::vector<Case> cases;
  for (const DType dtype : floats) {
    for (const std::int64_t rows : {0, 1, 70})
      add(cases, operation, {},
          {{dense(dtype, {rows, 7})}, {window(dtype, {rows, 64}, 5)}, {dense(dtype, {rows, 515})}},
          {dense(dtype, {rows, 586})});
  }
  return cases;
}

/// Values on either side of what clamps them.
std::vector<Case> clamped_gate_cases(const Operation& operation) {
  std::vector<Case> cases;
  for (const DType in : floats) {
    for_widths([&](const Shape& shape, std::int64_t more) {
      for (const double cap : {0.75, 7.0})
        add(cases, operation, {.scale = 1.702, .cap = cap}, {{window(in, shape, more)}, {dense(in, shape)}},
            {dense(in, shape)});
    });
  }
  return cases;
}

std::vector<Case> gate_cases(const Operation& operation) {
  std::vector<Case> cases;
  for (const DType in : floats) {
    for_widths([&](const Shape& shape, std::int64_t more) {
      add(cases, operation, {.activation = Activation::silu}, {{window(in, shape, more)}, {dense(in, shape)}},
          {dense(in, shape)});
      add(cases, operation, {.activation = Activation::gelu_tanh}, {{dense(in, shape)}, {dense(in, shape)}},
          {dense(DType::bf16, shape)});
      add(cases, operation, scaled({.activation = Activation::silu}), {{window(in, shape, more)}, {dense(in, shape)}},
          {dense(DType::s8, shape)});
    });
  }
  return cases;
}

std::vector<Case> dropout_cases(const Operation& operation) {
  std::vector<Case> cases;
  for (const DType dtype : floats) {
    for_widths([&](const Shape& shape, std::int64_t more) {
      add(cases, operation, {.rate = 0.3, .stream = 5},
          {{window(dtype, shape, more)},
           {dense(DType::s32, {2}), Fill::whole},
           {dense(DType::s32, {1}), Fill::few_ids}},
          {dense(dtype, shape)});
    });
  }
  return cases;
}

std::vector<Case> cross_entropy_cases(const Operation& operation) {
  std::vector<Case> cases;
  for (const DType dtype : floats) {
    for (const Shape& shape : {Shape{2, 3, 17}, Shape{1, 2}, Shape{40, 1000}, Shape{4, 16, 515}}) {
      Shape rows(shape.begin(), shape.end() - 1);
      std::vector<Filled> inputs = {{dense(dtype, shape)}, {dense(DType::s32, rows), Fill::labels}};
      if (&operation == &op::cross_entropy) {
        add(cases, operation, {}, inputs, {dense(DType::f32, {1})});
      } else {
        inputs.push_back({dense(DType::f32, {1}), Fill::around_one});
        add(cases, operation, {}, inputs, {dense(dtype, shape)});
      }
    }
  }
  return cases;
}

}  // namespace assay::contract
