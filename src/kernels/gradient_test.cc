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

  /// Gradients of a random weighting of the operation's first output, against central differences.
  void check(const Operation& operation, const std::vector<ValueId>& inputs, const Attributes& attributes,
             std::size_t outputs = 1) {
    builder.at("layers.0.here", Role::other);
    const std::size_t made = builder.add_node({&operation, inputs, {}, attributes, "layers.0.here", Role::other});
    Program program = builder.take();
    for (Value& value : program.values) {
      if (value.source == Source::computed) value.dtype = DType::f64;
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

TEST(Gradient, OfLinearAgreesWithCentralDifferences) {
  Around a;
  a.check(op::linear, {a.parameter(rows_of_6), a.parameter({dim(4), dim(6)}), a.parameter({dim(4)})}, {});
}

TEST(Gradient, OfNormsAgreesWithCentralDifferences) {
  for (const Operation* norm : {&op::layer_norm, &op::add_layer_norm}) {
    Around a;
    std::vector<ValueId> inputs = {a.parameter(rows_of_6)};
    if (norm == &op::add_layer_norm) inputs.push_back(a.parameter(rows_of_6));
    inputs.push_back(a.parameter({dim(6)}));
    inputs.push_back(a.parameter({dim(6)}));
    a.check(*norm, inputs, {.epsilon = 1e-3}, norm == &op::layer_norm ? 1 : 2);
  }
  for (const Operation* norm : {&op::rms_norm, &op::add_rms_norm}) {
    Around a;
    std::vector<ValueId> inputs = {a.parameter(rows_of_6)};
    if (norm == &op::add_rms_norm) inputs.push_back(a.parameter(rows_of_6));
    inputs.push_back(a.parameter({dim(6)}));
    a.check(*norm, inputs, {.epsilon = 1e-3}, norm == &op::rms_norm ? 1 : 2);
  }
}

TEST(Gradient, OfActivationsAgreesWithCentralDifferences) {
  for (const Activation f : {Activation::none, Activation::relu, Activation::gelu_erf, Activation::gelu_tanh,
                             Activation::silu, Activation::tanh}) {
    Around alone;
    alone.check(op::activation, {alone.parameter(rows_of_6)}, {.activation = f});
    Around gated;
    gated.check(op::gate, {gated.parameter(rows_of_6), gated.parameter(rows_of_6)}, {.activation = f});
  }
}

TEST(Gradient, OfSumsProductsAndCastsAgreesWithCentralDifferences) {
  for (const Operation* operation : {&op::add, &op::multiply}) {
    Around a;
    a.check(*operation, {a.parameter(rows_of_6), a.parameter(rows_of_6)}, {});
  }
  Around a;
  a.check(op::cast, {a.parameter(rows_of_6)}, {});
}

TEST(Gradient, OfRotationsAgreesWithCentralDifferences) {
  for (const RotaryPairs pairs : {RotaryPairs::halves, RotaryPairs::interleaved}) {
    Around a;
    a.check(op::rope, {a.parameter({dim_batch, dim_seq, dim(8)})}, {.heads = 2, .head_dim = 4, .pairs = pairs});
  }
}

/// Four query heads on two key heads.
Attributes attention_attributes(bool causal) {
  return {.heads = 4, .kv_heads = 2, .head_dim = 3, .scale = 0.7, .causal = causal};
}

TEST(Gradient, OfAttentionAndItsPartsAgreesWithCentralDifferences) {
  const SymbolicShape queries = {dim_batch, dim_seq, dim(12)};
  const SymbolicShape keys = {dim_batch, dim_seq, dim(6)};
  const SymbolicShape matrix = {dim_batch, dim(4), dim_seq, dim_seq};
  for (const bool causal : {false, true}) {
    const Attributes attributes = attention_attributes(causal);
    Around scores;
    scores.check(op::attention_scores, {scores.parameter(queries), scores.parameter(keys)}, attributes);
    Around softmax;
    softmax.check(op::softmax,
                  {softmax.parameter(matrix), softmax.integers(DType::u8, {dim_batch, dim_seq}, some_mask)},
                  attributes);
    Around context;
    context.check(op::attention_context, {context.parameter(matrix), context.parameter(keys)}, attributes);
    Around whole;
    whole.check(op::attention,
                {whole.parameter(queries), whole.parameter(keys), whole.parameter(keys),
                 whole.integers(DType::u8, {dim_batch, dim_seq}, some_mask)},
                attributes);
  }
}

TEST(Gradient, OfTablesAgreesWithCentralDifferences) {
  Around tokens;
  tokens.check(op::embedding,
               {tokens.integers(DType::s32, {dim_batch, dim_seq}, some_ids), tokens.parameter({dim(5), dim(6)})}, {});
  for (const RowChoice row : {RowChoice::by_position, RowChoice::first}) {
    Around positions;
    positions.check(op::add_rows, {positions.parameter(rows_of_6), positions.parameter({dim(7), dim(6)})},
                    {.row = row});
  }
}

TEST(Gradient, OfSelectionsAgreesWithCentralDifferences) {
  for (const RowChoice row : {RowChoice::first, RowChoice::last}) {
    Around a;
    a.check(op::select_row, {a.parameter(rows_of_6)}, {.row = row});
  }
  Around pool;
  pool.check(op::mean_pool, {pool.parameter(rows_of_6), pool.integers(DType::u8, {dim_batch, dim_seq}, some_mask)}, {});
}

TEST(Gradient, OfColumnsIsPutTogetherFromTheParts) {
  Around a;
  const ValueId x = a.parameter(rows_of_6);
  const ValueId left = a.builder.add(op::slice_columns, {x}, {.offset = 0, .width = 3});
  const ValueId right = a.builder.add(op::slice_columns, {x}, {.offset = 3, .width = 3});
  a.check(op::multiply, {left, right}, {});
}

TEST(Gradient, OfDropoutIsTheSameDropout) {
  Around a;
  a.check(op::dropout, {a.parameter(rows_of_6), a.integers(DType::s32, {dim(2)}, {5, 9})}, {.rate = 0.4, .stream = 3});
}

TEST(Gradient, OfCrossEntropyAgreesWithCentralDifferences) {
  Around a;
  a.check(op::cross_entropy,
          {a.parameter(rows_of_6), a.integers(DType::s32, {dim_batch, dim_seq}, {1, 5, -100, 0, -100, 3})}, {});
}

}  // namespace
}  // namespace assay
