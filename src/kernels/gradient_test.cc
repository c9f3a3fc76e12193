#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "base/random.h"
#include "base/threads.h"
#include "kernels/kernel.h"
#include "program/builder.h"
#include "program/passes.h"

// The gradient of every operation that has one, against central differences in f64 on the reference backend.

namespace assay {
namespace {

constexpr Extent extent{2, 3};

/// Runs programs node by node on the reference backend, with whatever inputs and state it is given.
class Interpreter {
 public:
  explicit Interpreter(const Program& program) : program_(program), values_(program.values.size()) {
    facts_.threads = 1;
    set_threads(1);  // the tensors are tiny and there are many runs
    for (std::size_t id = 0; id < values_.size(); ++id)
      values_[id] = Tensor(program.values[id].dtype, concrete(program.values[id].shape, extent));
  }

  Tensor& value(ValueId id) { return values_[static_cast<std::size_t>(id)]; }
  double* numbers(ValueId id) { return value(id).as<double>(); }

  void run() {
    for (const Node& node : program_.nodes) run_node(node);
  }

 private:
  Argument argument(ValueId id) {
    if (id == no_value) return {};
    Argument argument;
    argument.present = true;
    argument.dtype = program_.value(id).dtype;
    argument.shape = concrete(program_.value(id).shape, extent);
    argument.row_stride = argument.width();
    return argument;
  }

  void run_node(const Node& node) {
    if (node.operation->alias) return copy_columns(node);
    Call call{node.operation, node.attributes, {}, {}, 1};
    std::vector<const std::byte*> inputs;
    std::vector<std::byte*> outputs;
    for (const ValueId id : node.inputs) {
      call.inputs.push_back(argument(id));
      inputs.push_back(id == no_value ? nullptr : value(id).data());
    }
    for (const ValueId id : node.outputs) {
      call.outputs.push_back(argument(id));
      outputs.push_back(id == no_value ? nullptr : value(id).data());
    }
    Offer offer = prepare(reference_backend(), call, facts_);
    ASSERT_TRUE(std::holds_alternative<Prepared>(offer)) << node.operation->name;
    const auto& prepared = std::get<Prepared>(offer);
    const AlignedBytes workspace = allocate_aligned(prepared.workspace_bytes);
    prepared.kernel->run({inputs, outputs, workspace.get()});
  }

  void copy_columns(const Node& node) {
    const std::int64_t from = argument(node.inputs[0]).width();
    const std::int64_t width = node.attributes.width;
    for (std::int64_t i = 0; i < value(node.outputs[0]).count(); ++i)
      numbers(node.outputs[0])[i] = numbers(node.inputs[0])[i / width * from + node.attributes.offset + i % width];
  }

  const Program& program_;
  MachineFacts facts_;
  std::vector<Tensor> values_;
};

/// A program around one operation: its float inputs are parameters "0", "1", ..., its result is sum(output * weights).
class Around {
 public:
  ValueId parameter(SymbolicShape shape) {
    return builder.state(std::to_string(parameters_++), DType::f64, std::move(shape));
  }
  ValueId integers(DType dtype, SymbolicShape shape, std::vector<std::int32_t> values) {
    const ValueId id = builder.input("integers." + std::to_string(integers_.size()), dtype, std::move(shape));
    integers_[id] = std::move(values);
    return id;
  }

  /// Gradients of a random weighting of so many of the operation's outputs, against central differences; those behind
  /// them are whole numbers.
  void check(const Operation& operation, const std::vector<ValueId>& inputs, const Attributes& attributes,
             std::size_t outputs = 1) {
    builder.at("layers.0.here", Role::other);
    const std::size_t made = builder.add_node({&operation, inputs, {}, attributes, "layers.0.here", Role::other});
    const std::vector<ValueId> results = builder.program().nodes[made].outputs;
    for (std::size_t i = outputs; i < results.size(); ++i) builder.set_dtype(results[i], DType::s32);
    Program program = builder.take();
    for (Value& value : program.values) {
      if (value.source == Source::computed && is_float(value.dtype)) value.dtype = DType::f64;
    }
    // Every output counts; a result that is (1) needs no weighting.
    for (std::size_t i = 0; i < outputs; ++i) check_output(program, program.nodes[made].outputs[i]);
  }

  Builder builder;

 private:
  /// Appends result = <output, weights> as a linear of one row, which is an operation that is tested by itself.
  Program weighted(const Program& program, ValueId output) {
    Program with = program;
    const Shape shape = concrete(with.value(output).shape, extent);
    const auto add = [&](Value value) {
      with.values.push_back(std::move(value));
      return static_cast<ValueId>(with.values.size()) - 1;
    };
    const ValueId weights = add({"weights", DType::f64, with.value(output).shape, Source::input, false});
    with.inputs.push_back({"weights", weights});
    const ValueId product = add({"product", DType::f64, with.value(output).shape, Source::computed, false});
    const ValueId sums = add({"sums", DType::f64, {with.value(output).shape.back()}, Source::computed, false});
    const ValueId ones = add({"ones", DType::f64, {dim(1), with.value(output).shape.back()}, Source::input, false});
    with.inputs.push_back({"ones", ones});
    const ValueId result = add({"result", DType::f64, {dim(1)}, Source::computed, false});
    with.nodes.push_back({&op::multiply, {output, weights}, {product}, {}, "result", Role::loss});
    with.nodes.push_back({&op::sum_rows, {product}, {sums}, {}, "result", Role::loss});
    with.nodes.push_back({&op::linear, {sums, ones, no_value}, {result}, {}, "result", Role::loss});
    with.outputs = {{"result", result}};
    return with;
  }

  void fill(Interpreter& interpreter, const Program& program) {
    for (std::size_t id = 0; id < program.values.size(); ++id) {
      const Value& value = program.values[id];
      const auto place = static_cast<ValueId>(id);
      if (value.source == Source::computed || value.name.starts_with("grad.")) continue;
      if (const auto known = integers_.find(place); known != integers_.end()) {
        for (std::size_t i = 0; i < known->second.size(); ++i) {
          if (value.dtype == DType::u8)
            interpreter.value(place).as<std::uint8_t>()[i] = static_cast<std::uint8_t>(known->second[i]);
          if (value.dtype == DType::s8)
            interpreter.value(place).as<std::int8_t>()[i] = static_cast<std::int8_t>(known->second[i]);
          if (value.dtype == DType::s32) interpreter.value(place).as<std::int32_t>()[i] = known->second[i];
        }
      } else if (value.dtype == DType::f32) {
        *interpreter.value(place).as<float>() = 1;  // loss_scale
      } else {
        Random random(7, id);
        for (std::int64_t i = 0; i < interpreter.value(place).count(); ++i)
          interpreter.numbers(place)[i] = value.name == "ones" ? 1 : random.next_normal();
      }
    }
  }

  double result_of(Interpreter& interpreter, ValueId result) {
    interpreter.run();
    return *interpreter.numbers(result);
  }

  void check_output(const Program& program, ValueId output) {
    Program forward = weighted(program, output);
    // The sum over rows has no rule of its own; its gradient is written down here: weights, in the shape of the output.
    Program step = forward;
    step.nodes.resize(program.nodes.size());
    step = differentiate_with_seed(step, output);
    Interpreter numeric(forward);
    fill(numeric, forward);
    Interpreter analytic(step);
    fill(analytic, step);
    analytic.run();
    const ValueId result = forward.output("result");
    for (const NamedValue& gradient : step.outputs) {
      if (!gradient.name.starts_with("grad.")) continue;
      compare(forward, numeric, result, gradient, analytic);
    }
  }

  /// differentiate() takes a scalar times "loss_scale"; here the seed is the weights themselves.
  static Program differentiate_with_seed(Program program, ValueId output) {
    program.outputs = {{"y", output}};
    return differentiate(program, {.of = "y", .seed = "weights"});
  }

  void compare(const Program& forward, Interpreter& numeric, ValueId result, const NamedValue& gradient,
               Interpreter& analytic) {
    ValueId parameter = no_value;
    for (std::size_t id = 0; id < forward.values.size(); ++id) {
      if ("grad." + forward.values[id].name == gradient.name) parameter = static_cast<ValueId>(id);
    }
    ASSERT_NE(parameter, no_value);
    constexpr double step = 1e-5;
    for (std::int64_t i = 0; i < numeric.value(parameter).count(); ++i) {
      double& x = numeric.numbers(parameter)[i];
      const double before = x;
      x = before + step;
      const double above = result_of(numeric, result);
      x = before - step;
      const double below = result_of(numeric, result);
      x = before;
      const double expected = (above - below) / (2 * step);
      EXPECT_NEAR(analytic.numbers(gradient.value)[i], expected, 1e-7 * (1 + std::abs(expected)))
          << gradient.name << " element " << i;
    }
  }

  int parameters_ = 0;
  std::map<ValueId, std::vector<std::int32_t>> integers_;
};

const SymbolicShape rows_of_6 = {dim_batch, dim_seq, dim(6)};
const std::vector<std::int32_t> some_ids = {1, 4, 1, 0, 4, 4};
const std::vector<std::int32_t> some_mask = {1, 1, 0, 0, 1, 1};

void check_linear(const Operation& linear) {
  Around a;
  a.check(linear, {a.parameter(rows_of_6), a.parameter({dim(4), dim(6)}), a.parameter({dim(4)})}, {});
}

/// Of x alone: the weight stays.
void check_quantized_linear(const Operation& linear) {
  Around a;
  std::vector<std::int32_t> codes(24);
  for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<std::int32_t>(i * 29 % 31) - 15;
  const ValueId weight = a.integers(DType::s8, {dim(4), dim(6)}, codes);
  const ValueId scales = a.builder.input("scales", DType::f64, {dim(4)});
  a.check(linear, {a.parameter(rows_of_6), no_value, weight, scales, a.builder.input("bias", DType::f64, {dim(4)})},
          {});
}

void check_block_linear(const Operation& linear) {
  Around a;
  const BlockFormat& format = blocks::q8_0;
  std::vector<std::int32_t> bytes(static_cast<std::size_t>(4 * format.bytes));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const std::size_t place = i % static_cast<std::size_t>(format.bytes);
    constexpr std::int32_t sixteenth_in_f16 = 0x2c;  // its other byte is 0
    bytes[i] = place == 1 ? sixteenth_in_f16 : place >= 2 && place < 8 ? static_cast<std::int32_t>(i * 37 % 256) : 0;
  }
  const ValueId weight = a.integers(DType::u8, {dim(4), dim(format.bytes)}, bytes);
  a.check(linear, {a.parameter(rows_of_6), weight, no_value}, {.blocks = &format});
}

/// x [, y], then a gain and what else there is one of for each column.
void check_norm(const Operation& norm, bool of_sum, int rows_of_parameters) {
  Around a;
  std::vector<ValueId> inputs = {a.parameter(rows_of_6)};
  if (of_sum) inputs.push_back(a.parameter(rows_of_6));
  for (int i = 0; i < rows_of_parameters; ++i) inputs.push_back(a.parameter({dim(6)}));
  a.check(norm, inputs, {.epsilon = 1e-3}, of_sum ? 2 : 1);
}

void check_rms_norm(const Operation& norm) {
  check_norm(norm, false, 1);
  Around heads;
  heads.check(norm, {heads.parameter(rows_of_6), heads.parameter({dim(3)})}, {.epsilon = 1e-3});
}

constexpr Activation activations[] = {Activation::none,      Activation::relu, Activation::gelu_erf,
                                      Activation::gelu_tanh, Activation::silu, Activation::tanh};

void check_activation(const Operation& activation) {
  for (const Activation f : activations) {
    Around a;
    a.check(activation, {a.parameter(rows_of_6)}, {.activation = f});
  }
}

void check_gate(const Operation& gate) {
  for (const Activation f : activations) {
    Around a;
    a.check(gate, {a.parameter(rows_of_6), a.parameter(rows_of_6)}, {.activation = f});
  }
}

void check_binary(const Operation& operation) {
  Around a;
  a.check(operation, {a.parameter(rows_of_6), a.parameter(rows_of_6)}, {});
}

void check_elementwise(const Operation& operation) {
  Around a;
  a.check(operation, {a.parameter(rows_of_6)}, {.scale = -1.3, .shift = 0.4, .cap = 0.7});
}

void check_cast(const Operation& cast) {
  Around a;
  a.check(cast, {a.parameter(rows_of_6)}, {});
}

void check_rope(const Operation& rope) {
  for (const RotaryPairs pairs : {RotaryPairs::halves, RotaryPairs::interleaved}) {
    Around a;
    a.check(rope, {a.parameter({dim_batch, dim_seq, dim(8)})}, {.heads = 2, .head_dim = 4, .pairs = pairs});
    Around part;
    part.check(rope, {part.parameter({dim_batch, dim_seq, dim(12)})},
               {.heads = 2, .head_dim = 6, .rotary_dim = 4, .rope_scaling = {.magnitude = 1.3}, .pairs = pairs});
  }
}

const SymbolicShape queries = {dim_batch, dim_seq, dim(12)};
const SymbolicShape keys = {dim_batch, dim_seq, dim(6)};
const SymbolicShape attention_matrix = {dim_batch, dim(4), dim_seq, dim_seq};

/// Four query heads on two key heads.
std::vector<Attributes> attention_attributes() {
  std::vector<Attributes> all;
  for (const bool causal : {false, true}) {
    for (const std::int64_t window : {0, 2})
      all.push_back({.heads = 4, .kv_heads = 2, .head_dim = 3, .scale = 0.7, .causal = causal, .window = window});
  }
  return all;
}

void check_scores(const Operation& scores) {
  for (const Attributes& attributes : attention_attributes()) {
    Around a;
    a.check(scores, {a.parameter(queries), a.parameter(keys)}, attributes);
  }
}

void check_relative_scores(const Operation& relative_scores) {
  for (const ScoredBy scored_by : {ScoredBy::query, ScoredBy::key}) {
    for (const RelativePositions positions : {RelativePositions{2, 0}, RelativePositions{2, 3}}) {
      Around a;
      a.check(relative_scores, {a.parameter(attention_matrix), a.parameter(queries), a.parameter({dim(4), dim(12)})},
              {.heads = 4, .head_dim = 3, .scale = 0.7, .relative = positions, .scored_by = scored_by});
    }
  }
}

void check_softmax(const Operation& softmax) {
  for (const Attributes& attributes : attention_attributes()) {
    Around a;
    a.check(softmax, {a.parameter(attention_matrix), a.integers(DType::u8, {dim_batch, dim_seq}, some_mask)},
            attributes);
  }
}

void check_context(const Operation& context) {
  for (const Attributes& attributes : attention_attributes()) {
    Around a;
    a.check(context, {a.parameter(attention_matrix), a.parameter(keys)}, attributes);
  }
}

void check_attention(const Operation& attention) {
  std::vector<Attributes> all = attention_attributes();
  all.push_back(all.front());
  all.back().cap = 0.9;
  for (const Attributes& attributes : all) {
    Around a;
    a.check(attention,
            {a.parameter(queries), a.parameter(keys), a.parameter(keys),
             a.integers(DType::u8, {dim_batch, dim_seq}, some_mask)},
            attributes);
  }
}

void check_embedding(const Operation& embedding) {
  Around a;
  a.check(embedding, {a.integers(DType::s32, {dim_batch, dim_seq}, some_ids), a.parameter({dim(5), dim(6)})}, {});
}

void check_add_rows(const Operation& add_rows) {
  for (const RowChoice row : {RowChoice::by_position, RowChoice::first}) {
    Around a;
    a.check(add_rows, {a.parameter(rows_of_6), a.parameter({dim(7), dim(6)})}, {.row = row});
  }
}

void check_select_row(const Operation& select_row) {
  for (const RowChoice row : {RowChoice::first, RowChoice::last}) {
    Around a;
    a.check(select_row, {a.parameter(rows_of_6)}, {.row = row});
  }
}

void check_mean_pool(const Operation& mean_pool) {
  Around a;
  a.check(mean_pool, {a.parameter(rows_of_6), a.integers(DType::u8, {dim_batch, dim_seq}, some_mask)}, {});
}

/// The gradient is put together from those of the parts.
void check_slices(const Operation& slice_columns) {
  Around a;
  const ValueId x = a.parameter(rows_of_6);
  const ValueId left = a.builder.add(slice_columns, {x}, {.offset = 0, .width = 3});
  const ValueId right = a.builder.add(slice_columns, {x}, {.offset = 3, .width = 3});
  a.check(op::multiply, {left, right}, {});
}

/// The backward drops what the forward dropped.
void check_dropout(const Operation& dropout) {
  Around a;
  a.check(dropout,
          {a.parameter(rows_of_6), a.integers(DType::s32, {dim(2)}, {5, 9}), a.integers(DType::s32, {dim(1)}, {7})},
          {.rate = 0.4, .stream = 3});
}

void check_cross_entropy(const Operation& cross_entropy) {
  Around a;
  a.check(cross_entropy,
          {a.parameter(rows_of_6), a.integers(DType::s32, {dim_batch, dim_seq}, {1, 5, -100, 0, -100, 3})}, {});
}

/// Of 2 x 3 tokens with two of four experts each; the third has none.
const SymbolicShape expert_rows = {Dim{2, 1, 1}, dim(5)};
const std::vector<std::int32_t> some_experts = {1, 3, 0, 1, 3, 0, 3, 1, 1, 0, 0, 3};
const std::vector<std::int32_t> some_order = {2, 5, 9, 10, 0, 3, 7, 8, 1, 4, 6, 11};
const std::vector<std::int32_t> some_offsets = {0, 4, 8, 8, 12};
const SymbolicShape of_two_experts = {dim_batch, dim_seq, dim(2)};

void check_route(const Operation& route) {
  for (const bool normalised : {false, true}) {
    Around a;
    a.check(route, {a.parameter({dim_batch, dim_seq, dim(4)})},
            {.experts = 4, .active_experts = 2, .normalised = normalised});
  }
}

void check_group_rows(const Operation& group_rows) {
  Around a;
  a.check(group_rows, {a.parameter(rows_of_6), a.integers(DType::s32, of_two_experts, some_experts)}, {.experts = 4});
}

void check_expert_linear(const Operation& expert_linear) {
  Around a;
  std::vector<ValueId> inputs = {a.parameter(expert_rows), a.integers(DType::s32, {dim(5)}, some_offsets)};
  for (int expert = 0; expert < 4; ++expert) inputs.insert(inputs.end(), {a.parameter({dim(3), dim(5)}), no_value});
  a.check(expert_linear, inputs, {});
}

void check_merge_rows(const Operation& merge_rows) {
  Around a;
  a.check(merge_rows,
          {a.parameter(expert_rows), a.integers(DType::s32, {expert_rows[0]}, some_order), a.parameter(of_two_experts)},
          {});
}

using GradientCheck = void (*)(const Operation&);

const std::map<const Operation*, GradientCheck> gradient_checks = {
    {&op::embedding, check_embedding},
    {&op::add_rows, check_add_rows},
    {&op::layer_norm, [](const Operation& o) { check_norm(o, false, 2); }},
    {&op::rms_norm, check_rms_norm},
    {&op::add_layer_norm, [](const Operation& o) { check_norm(o, true, 2); }},
    {&op::add_rms_norm, [](const Operation& o) { check_norm(o, true, 1); }},
    {&op::linear, check_linear},
    {&op::route, check_route},
    {&op::group_rows, check_group_rows},
    {&op::expert_linear, check_expert_linear},
    {&op::merge_rows, check_merge_rows},
    {&op::activation, check_activation},
    {&op::gate, check_gate},
    {&op::quantized_linear, check_quantized_linear},
    {&op::block_linear, check_block_linear},
    {&op::add, check_binary},
    {&op::multiply, check_binary},
    {&op::affine, check_elementwise},
    {&op::soft_cap, check_elementwise},
    {&op::rope, check_rope},
    {&op::attention_scores, check_scores},
    {&op::relative_scores, check_relative_scores},
    {&op::softmax, check_softmax},
    {&op::attention_context, check_context},
    {&op::attention, check_attention},
    {&op::slice_columns, check_slices},
    {&op::select_row, check_select_row},
    {&op::mean_pool, check_mean_pool},
    {&op::cast, check_cast},
    {&op::dropout, check_dropout},
    {&op::cross_entropy, check_cross_entropy},
};

class Gradient : public testing::TestWithParam<const Operation*> {};

TEST_P(Gradient, AgreesWithCentralDifferences) {
  const auto check = gradient_checks.find(GetParam());
  ASSERT_NE(check, gradient_checks.end()) << GetParam()->name << " has a gradient, which nothing here checks";
  check->second(*GetParam());
}

std::vector<const Operation*> differentiable_operations() {
  std::vector<const Operation*> operations;
  for (const Operation* operation : all_operations()) {
    if (operation->gradient != nullptr) operations.push_back(operation);
  }
  return operations;
}

INSTANTIATE_TEST_SUITE_P(Operations, Gradient, testing::ValuesIn(differentiable_operations()),
                         [](const auto& test) { return test.param->name; });

}  // namespace
}  // namespace assay
