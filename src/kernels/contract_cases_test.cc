#include "kernels/contract_cases.h"

#include <functional>
#include <map>

#include "kernels/contract.h"

namespace assay::contract {
namespace {

/// use(shape, more): shapes (rows, width) with odd widths, one row, none, and windows `more` narrower than their rows.
/// The largest is worth several threads.
void for_shapes(const std::function<void(const Shape&, std::int64_t)>& use) {
  for (const std::int64_t width : {1, 7, 17, 64, 129}) use({3, width}, 0);
  use({1, 768}, 0);
  use({5, 33}, 11);
  use({0, 16}, 0);
  use({2, 3, 40}, 8);
  use({70, 515}, 5);
}

void for_dtypes(const std::function<void(DType, DType)>& use) {
  for (const DType in : floats) {
    for (const DType out : floats) use(in, out);
  }
}

std::vector<Case> norm_cases(const Operation& operation, int vectors) {
  std::vector<Case> cases;
  for_dtypes([&](DType in, DType out) {
    for_shapes([&](const Shape& shape, std::int64_t more) {
      std::vector<Filled> inputs = {{window(in, shape, more), Fill::normal}};
      inputs.push_back({constant(out, {shape.back()}), Fill::around_one});
      if (vectors == 2) inputs.push_back({constant(DType::f32, {shape.back()}), Fill::normal});
      add(cases, operation, {.epsilon = 1e-5}, inputs, {window(out, shape, more)});
      if (in == out) add(cases, operation, scaled({.epsilon = 1e-5}), inputs, {window(DType::s8, shape, more)});
      if (size_of(in) == 2) add(cases, operation, {.epsilon = 1e-5, .math = in}, inputs, {window(out, shape, more)});
    });
    if (vectors == 2) return;
    for (const std::int64_t head_dim : {1, 5, 64, 128}) {  // Each of three heads by itself.
      const Shape shape = {2, 9, 3 * head_dim};
      add(cases, operation, {.epsilon = 1e-5},
          {{window(in, shape, 7), Fill::normal}, {constant(out, {head_dim}), Fill::around_one}},
          {window(out, shape, 7)});
    }
  });
  return cases;
}

std::vector<Case> add_norm_cases(const Operation& operation, int vectors) {
  std::vector<Case> cases;
  for_dtypes([&](DType in, DType out) {
    for_shapes([&](const Shape& shape, std::int64_t more) {
      std::vector<Filled> inputs = {{dense(DType::f32, shape)}, {window(in, shape, more)}};
      inputs.push_back({constant(DType::f32, {shape.back()}), Fill::around_one});
      if (vectors == 2) inputs.push_back({constant(out, {shape.back()}), Fill::normal});
      Argument sum = dense(in, shape);
      sum.present = shape.back() != 64;
      add(cases, operation, {.epsilon = 1e-12}, inputs, {sum, dense(out, shape)});
      if (in == out) add(cases, operation, scaled({.epsilon = 1e-12}), inputs, {sum, dense(DType::s8, shape)});
      if (size_of(in) == 2) add(cases, operation, {.epsilon = 1e-5, .math = in}, inputs, {sum, dense(out, shape)});
    });
  });
  return cases;
}

std::vector<Case> unary_cases(const Operation& operation) {
  std::vector<Case> cases;
  const Activation all[] = {Activation::none,      Activation::relu, Activation::gelu_erf,
                            Activation::gelu_tanh, Activation::silu, Activation::tanh};
  for_dtypes([&](DType in, DType out) {
    for_shapes([&](const Shape& shape, std::int64_t more) {
      Shape wide = shape;
      if (&operation == &op::gated_activation) wide.back() *= 2;
      for (const Activation activation : all) {
        const bool every = &operation != &op::cast && in == out;
        if (!every && activation != (&operation == &op::cast ? Activation::none : Activation::silu)) continue;
        add(cases, operation, {.activation = activation}, {{window(in, wide, more)}}, {window(out, shape, more)});
        if (in == out)
          add(cases, operation, scaled({.activation = activation}), {{window(in, wide, more)}},
              {window(DType::s8, shape, more)});
      }
    });
  });
  return cases;
}

/// Of affine, soft_cap and its gradient.
std::vector<Case> elementwise_cases(const Operation& operation) {
  std::vector<Case> cases;
  for_dtypes([&](DType in, DType out) {
    for_shapes([&](const Shape& shape, std::int64_t more) {
      std::vector<Filled> inputs = {{window(in, shape, more)}};
      if (&operation == &op::soft_cap_gradient) inputs.push_back({dense(in, shape), Fill::small});
      add(cases, operation, {.scale = -1.7, .shift = 0.3, .cap = 1.5}, inputs, {window(out, shape, more)});
    });
  });
  return cases;
}

std::vector<Case> binary_cases(const Operation& operation) {
  std::vector<Case> cases;
  for_dtypes([&](DType in, DType out) {
    for_shapes([&](const Shape& shape, std::int64_t more) {
      for (const DType second : {DType::f32, in}) {
        add(cases, operation, {}, {{window(in, shape, more)}, {dense(second, shape)}}, {window(out, shape, more)});
      }
    });
  });
  return cases;
}

std::vector<Case> quantize_cases(const Operation& operation) {
  std::vector<Case> cases;
  for (const DType in : floats) {
    for_shapes([&](const Shape& shape, std::int64_t more) {
      const std::int64_t rows = dense(in, shape).rows();
      for (const DType out : {DType::s8, DType::e4m3})
        add(cases, operation, {}, {{window(in, shape, more), Fill::with_zeros}},
            {dense(out, shape), dense(DType::f32, {rows})});
    });
  }
  return cases;
}

std::vector<Case> embedding_cases(const Operation& operation) {
  std::vector<Case> cases;
  for_dtypes([&](DType table, DType out) {
    for (const std::int64_t width : {1, 33, 128}) {
      add(cases, operation, {}, {{dense(DType::s32, {2, 5}), Fill::ids}, {constant(table, {11, width})}},
          {dense(out, {2, 5, width})});
      Argument scales = constant(DType::f32, {11});
      add(cases, operation, {},
          {{dense(DType::s32, {1, 40}), Fill::ids},
           {constant(DType::s8, {11, width}), Fill::whole},
           {scales, Fill::small}},
          {dense(out, {1, 40, width})});
      add(cases, operation, {},
          {{dense(DType::s32, {1, 40}), Fill::ids},
           {constant(DType::e4m3, {11, width}), Fill::magnitudes},
           {scales, Fill::small}},
          {dense(out, {1, 40, width})});
    }
    add(cases, operation, {}, {{dense(DType::s32, {0, 5}), Fill::ids}, {constant(table, {11, 8})}},
        {dense(out, {0, 5, 8})});
  });
  return cases;
}

std::vector<Case> count_positions_cases(const Operation& operation) {
  std::vector<Case> cases;
  for (const std::int64_t seq : {1, 7, 40}) {
    for (const Fill mask : {Fill::right_padded, Fill::left_padded, Fill::holes})
      add(cases, operation, {.offset = 1, .padding_id = 0}, {{dense(DType::u8, {3, seq}), mask}},
          {dense(DType::s32, {3, seq})});
    add(cases, operation, {.offset = 1, .padding_id = 0}, {Filled{Argument{}}}, {dense(DType::s32, {3, seq})});
    for (const std::int64_t padding : {0, 3})
      add(cases, operation, {.offset = padding, .padding_id = padding}, {{dense(DType::s32, {3, seq}), Fill::few_ids}},
          {dense(DType::s32, {3, seq})});
    add(cases, operation, {.offset = 1, .padding_id = 0},
        {{dense(DType::u8, {3, seq}), Fill::holes}, {dense(DType::s32, {3}), Fill::few_ids}},
        {dense(DType::s32, {3, seq})});
  }
  return cases;
}

std::vector<Case> add_rows_cases(const Operation& operation) {
  std::vector<Case> cases;
  for_dtypes([&](DType in, DType out) {
    for (const Shape& shape : {Shape{2, 5, 33}, Shape{1, 1, 64}, Shape{0, 4, 16}, Shape{3, 20, 768}}) {
      for (const RowChoice row : {RowChoice::by_position, RowChoice::first})
        add(cases, operation, {.row = row}, {{window(in, shape, 3)}, {constant(out, {32, shape[2]})}},
            {dense(out, shape)});
    }
  });
  return cases;
}

std::vector<Case> sequence_cases(const Operation& operation) {
  std::vector<Case> cases;
  for_dtypes([&](DType in, DType out) {
    for (const Shape& shape : {Shape{2, 5, 33}, Shape{1, 1, 64}, Shape{0, 4, 16}, Shape{7, 20, 384}}) {
      const Filled x = {window(in, shape, 3)};
      const Argument y = dense(out, {shape[0], shape[2]});
      if (&operation == &op::mean_pool) {
        for (const Fill fill : {Fill::right_padded, Fill::left_padded, Fill::holes})
          add(cases, operation, {}, {x, {dense(DType::u8, {shape[0], shape[1]}), fill}}, {y});
        add(cases, operation, {}, {x, {Argument{}}}, {y});
      } else {
        add(cases, operation, {.row = RowChoice::first}, {x}, {y});
        add(cases, operation, {.row = RowChoice::last}, {x}, {y});
        for (const Fill fill : {Fill::right_padded, Fill::left_padded, Fill::holes})
          add(cases, operation, {.row = RowChoice::last}, {x, {dense(DType::u8, {shape[0], shape[1]}), fill}}, {y});
      }
    }
  });
  return cases;
}

/// Each way to stretch positions, around its original context.
std::vector<RopeScaling> rope_scalings() {
  return {{},
          {.type = RopeType::linear, .factor = 4},
          {.type = RopeType::dynamic, .factor = 2, .original = 64},
          {.type = RopeType::llama3, .factor = 8, .original = 64},
          {.type = RopeType::yarn, .factor = 4, .original = 64, .high = 32, .magnitude = 1.14},
          {.type = RopeType::longrope,
           .original = 64,
           .magnitude = 1.2,
           .narrow = {1, 1, 1.1, 1.2, 1.5, 2},
           .wide = {1, 2, 3, 5, 8, 13}}};
}

std::vector<Case> rope_cases(const Operation& operation) {
  std::vector<Case> cases;
  for_dtypes([&](DType in, DType out) {
    for (const RotaryPairs pairs : {RotaryPairs::halves, RotaryPairs::interleaved}) {
      for (const std::int64_t head_dim : {2, 6, 32, 64, 80}) {
        const Attributes a = {.heads = 3, .head_dim = head_dim, .pairs = pairs};
        for (const std::int64_t batch : {0, 1, 2})
          add(cases, operation, a, {{window(in, {batch, 130, 3 * head_dim}, 6)}},
              {dense(out, {batch, 130, 3 * head_dim})});
      }
      for (const RopeScaling& scaling : rope_scalings()) {
        const Attributes a = {
            .heads = 2, .head_dim = 20, .rope_theta = 500, .rotary_dim = 12, .rope_scaling = scaling, .pairs = pairs};
        for (const std::int64_t seq : {40, 130})
          add(cases, operation, a, {{window(in, {2, seq, 40}, 6)}}, {dense(out, {2, seq, 40})});
        Attributes placed = a;
        placed.positions = 90;
        add(cases, operation, placed, {{window(in, {2, 5, 40}, 6)}, {dense(DType::s32, {2, 5}), Fill::few_ids}},
            {dense(out, {2, 5, 40})});
      }
    }
  });
  return cases;
}

std::vector<Case> concat_cases(const Operation& operation) {
  std::vector<Case> cases;
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::s8, DType::e4m3}) {
    const Fill fill = dtype == DType::s8 ? Fill::whole : Fill::normal;
    for (const std::int64_t width : {1, 33, 256})
      add(cases, operation, {},
          {{constant(dtype, {3, width}), fill},
           {constant(dtype, {1, width}), fill},
           {constant(dtype, {200, width}), fill}},
          {dense(dtype, {204, width})});
    add(cases, operation, {}, {{constant(dtype, {5}), fill}, {constant(dtype, {70}), fill}}, {dense(dtype, {75})});
  }
  return cases;
}

std::vector<Case> all_linear_cases(const Operation& operation) {
  std::vector<Case> cases = linear_cases(operation);
  for (Case& one : trained_linear_cases(operation)) cases.push_back(std::move(one));
  return cases;
}

using Generator = std::vector<Case> (*)(const Operation&);

const std::map<const Operation*, Generator>& generators() {
  static const std::map<const Operation*, Generator> table = {
      {&op::embedding, embedding_cases},
      {&op::count_positions, count_positions_cases},
      {&op::add_rows, add_rows_cases},
      {&op::layer_norm, [](const Operation& o) { return norm_cases(o, 2); }},
      {&op::rms_norm, [](const Operation& o) { return norm_cases(o, 1); }},
      {&op::add_layer_norm, [](const Operation& o) { return add_norm_cases(o, 2); }},
      {&op::add_rms_norm, [](const Operation& o) { return add_norm_cases(o, 1); }},
      {&op::linear, all_linear_cases},
      {&op::quantized_linear, quantized_linear_cases},
      {&op::block_linear, block_linear_cases},
      {&op::quantized_block_linear, quantized_block_linear_cases},
      {&op::block_embedding, block_embedding_cases},
      {&op::route, route_cases},
      {&op::group_rows, group_rows_cases},
      {&op::expert_linear, expert_linear_cases},
      {&op::expert_quantized_linear, expert_quantized_linear_cases},
      {&op::expert_block_linear, expert_block_linear_cases},
      {&op::expert_quantized_block_linear, expert_quantized_block_linear_cases},
      {&op::merge_rows, merge_rows_cases},
      {&op::activation, unary_cases},
      {&op::gated_activation, unary_cases},
      {&op::add, binary_cases},
      {&op::multiply, binary_cases},
      {&op::affine, elementwise_cases},
      {&op::soft_cap, elementwise_cases},
      {&op::soft_cap_gradient, elementwise_cases},
      {&op::rope, rope_cases},
      {&op::attention_scores, attention_cases},
      {&op::relative_scores, relative_cases},
      {&op::softmax, attention_cases},
      {&op::attention_context, attention_cases},
      {&op::attention, attention_cases},
      {&op::append_cache, append_cache_cases},
      {&op::cached_attention, cached_attention_cases},
      {&op::select_row, sequence_cases},
      {&op::mean_pool, sequence_cases},
      {&op::cast, unary_cases},
      {&op::quantize_rows, quantize_cases},
      {&op::quantize_weight, quantize_cases},
      {&op::quantize_groups, quantize_groups_cases},
      {&op::quantize_blocks, quantize_blocks_cases},
      {&op::concat_rows, concat_cases},
      {&op::gate, gate_cases},
      {&op::clamped_gate, clamped_gate_cases},
      {&op::dropout, dropout_cases},
      {&op::cross_entropy, cross_entropy_cases},
      {&op::linear_input_gradient, linear_gradient_cases},
      {&op::quantized_linear_input_gradient, frozen_linear_cases},
      {&op::block_linear_input_gradient, block_gradient_cases},
      {&op::linear_weight_gradient, linear_gradient_cases},
      {&op::route_gradient, route_gradient_cases},
      {&op::group_rows_gradient, merge_rows_cases},
      {&op::expert_linear_input_gradient, expert_gradient_cases},
      {&op::expert_linear_weight_gradient, expert_gradient_cases},
      {&op::merge_rows_gradient, merge_rows_gradient_cases},
      {&op::sum_rows, sum_rows_cases},
      {&op::layer_norm_gradient, norm_gradient_cases},
      {&op::rms_norm_gradient, norm_gradient_cases},
      {&op::activation_gradient, activation_gradient_cases},
      {&op::gate_gradient, gate_gradient_cases},
      {&op::relative_input_gradient, relative_cases},
      {&op::relative_table_gradient, relative_cases},
      {&op::softmax_gradient, attention_gradient_cases},
      {&op::attention_context_transposed, attention_gradient_cases},
      {&op::attention_gradient, attention_gradient_cases},
      {&op::embedding_gradient, embedding_gradient_cases},
      {&op::add_rows_gradient, add_rows_gradient_cases},
      {&op::select_row_gradient, spreading_cases},
      {&op::mean_pool_gradient, spreading_cases},
      {&op::concat_columns, concat_columns_cases},
      {&op::cross_entropy_gradient, cross_entropy_cases},
      {&op::l2_norm, l2_norm_cases},
      {&op::adamw, optimizer_cases},
      {&op::block_adamw, block_adamw_cases},
      {&op::round_float8, round_float8_cases},
      {&op::sgd, optimizer_cases},
  };
  return table;
}

}  // namespace

std::vector<Case> cases_of(const Operation& operation) {
  const auto found = generators().find(&operation);
  return found == generators().end() ? std::vector<Case>{} : found->second(operation);
}

}  // namespace assay::contract
