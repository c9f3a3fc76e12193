#include <optional>

#include "kernels/contract_cases.h"
#include "program/float8_history.h"

namespace assay::contract {
namespace {

/// A parameter of a list: everything of it has that shape and, where it is not said, that dtype.
struct Parameter {
  DType dtype = DType::f32;
  Shape shape;
  bool momentum = true;  ///< sgd has none where its beta1 is 0.
  std::optional<DType> gradient = std::nullopt;
  std::optional<DType> moments = std::nullopt;
};

enum class LostUpdates : std::uint8_t { uncounted, counted };

struct Operands {
  std::vector<Filled> inputs;
  std::vector<Argument> outputs;
};

/// With what the whole step shares behind the operands of its parameters.
void add_shared(std::vector<Case>& cases, const Operation& operation, const Attributes& attributes, Operands operands,
                LostUpdates lost) {
  const std::size_t each = &operation == &op::sgd ? 3 : &operation == &op::adamw ? 4 : 6;
  const auto parameters = static_cast<std::int64_t>(operands.inputs.size() / each);
  operands.inputs.push_back({dense(DType::f32, {4}), Fill::small});
  operands.inputs.push_back({dense(DType::s32, {2}), Fill::whole});
  if (lost == LostUpdates::counted) operands.outputs.push_back(dense(DType::s32, {parameters}));
  add(cases, operation, attributes, operands.inputs, operands.outputs);
}

/// Weights, gradients and moments of each; hyper and seed at the end.
void add_update(std::vector<Case>& cases, const Operation& operation, const Attributes& attributes,
                const std::vector<Parameter>& parameters, LostUpdates lost) {
  const bool adam = &operation == &op::adamw;
  std::vector<Filled> inputs;
  std::vector<Argument> outputs;
  for (const Parameter& parameter : parameters) {
    const Argument weight = dense(parameter.dtype, parameter.shape);
    const Argument gradient = dense(parameter.gradient.value_or(parameter.dtype), parameter.shape);
    const Argument moment = dense(parameter.moments.value_or(parameter.dtype), parameter.shape);
    const Argument momentum = parameter.momentum ? moment : Argument{};
    inputs.insert(inputs.end(), {{weight}, {gradient}, {momentum, Fill::small}});
    if (adam) inputs.push_back({moment, Fill::small});
    outputs.insert(outputs.end(), {weight, momentum});
    if (adam) outputs.push_back(moment);
  }
  add_shared(cases, operation, attributes, {std::move(inputs), std::move(outputs)}, lost);
}

/// The same with moments in blocks of codes.
void add_block_update(std::vector<Case>& cases, const Attributes& attributes, const std::vector<Parameter>& parameters,
                      LostUpdates lost) {
  std::vector<Filled> inputs;
  std::vector<Argument> outputs;
  for (const Parameter& parameter : parameters) {
    const Argument weight = dense(parameter.dtype, parameter.shape);
    const Argument gradient = dense(parameter.gradient.value_or(parameter.dtype), parameter.shape);
    const Argument codes = dense(DType::u8, parameter.shape);
    const std::int64_t count = element_count(parameter.shape);
    const Argument scales = dense(DType::f32, {(count + attributes.width - 1) / attributes.width});
    inputs.insert(inputs.end(), {{weight},
                                 {gradient},
                                 {codes, Fill::codes},
                                 {codes, Fill::codes},
                                 {scales, Fill::small},
                                 {scales, Fill::small}});
    outputs.insert(outputs.end(), {weight, codes, codes, scales, scales});
  }
  add_shared(cases, op::block_adamw, attributes, {std::move(inputs), std::move(outputs)}, lost);
}

Attributes update_attributes(AdamW variant, Rounding rounding) {
  return {.epsilon = 1e-3,
          .stream = 2,
          .beta1 = 0.9,
          .beta2 = 0.95,
          .weight_decay = 0.1,
          .adamw = variant,
          .rounding = rounding};
}

/// Odd sizes around the eight elements, the parts and the launches that kernels take at a time, and nothing.
std::vector<Shape> odd_shapes() {
  std::vector<Shape> shapes = {{1}, {37}, {65, 129}, {8}, {7, 3}, {0}, {1024}, {17, 1001}};
  for (std::int64_t i = 0; i < 150; ++i) shapes.push_back({1 + i * i % 61});
  return shapes;
}

void add_lists(std::vector<Case>& cases, const Operation& operation) {
  const std::vector<Shape> shapes = odd_shapes();
  for (const DType dtype : floats) {
    std::vector<Parameter> alike;
    alike.reserve(shapes.size());
    for (const Shape& shape : shapes) alike.push_back({dtype, shape, true});
    add_update(cases, operation, update_attributes(AdamW::cs336, Rounding::nearest), alike, LostUpdates::uncounted);
    add_update(cases, operation, update_attributes(AdamW::pytorch, Rounding::stochastic), alike, LostUpdates::counted);
  }
  std::vector<Parameter> mixed;
  for (std::size_t i = 0; i < shapes.size(); ++i) mixed.push_back({floats[i / 2 % std::size(floats)], shapes[i], true});
  add_update(cases, operation, update_attributes(AdamW::pytorch, Rounding::stochastic), mixed, LostUpdates::uncounted);
  if (&operation == &op::adamw) return;
  for (Parameter& parameter : mixed) parameter.momentum = false;
  Attributes plain = update_attributes(AdamW::pytorch, Rounding::nearest);
  plain.beta1 = 0;
  add_update(cases, operation, plain, mixed, LostUpdates::uncounted);
}

/// Weights, gradients and moments of dtypes of their own.
void add_own_dtypes(std::vector<Case>& cases, const Operation& operation) {
  std::vector<Parameter> all;
  const std::vector<Shape> shapes = odd_shapes();
  for (std::size_t i = 0; i < shapes.size(); ++i)
    all.push_back({floats[i % 3], shapes[i], true, floats[i / 3 % 3], floats[i / 9 % 3]});
  for (const Rounding rounding : {Rounding::nearest, Rounding::stochastic}) {
    Attributes attributes = update_attributes(AdamW::pytorch, rounding);
    attributes.state_rounding = rounding;
    add_update(cases, operation, attributes, all, LostUpdates::counted);
    for (const DType gradient : floats)
      add_update(cases, operation, attributes, {{DType::f32, {65, 129}, true, gradient, DType::bf16}},
                 LostUpdates::uncounted);
  }
}

}  // namespace

std::vector<Case> round_float8_cases(const Operation& operation) {
  std::vector<Case> cases;
  for (const DType format : {DType::e4m3, DType::e5m2}) {
    for (const DType from : floats) {
      for (const Shape& shape : {Shape{1, 1}, Shape{3, 37}, Shape{2, 129, 130}, Shape{200, 515}}) {
        for (const Fill fill : {Fill::normal, Fill::magnitudes}) {
          // Histories: none, full, and that of a tensor that had 0.01 at most: most of these values saturate.
          const Argument history = dense(DType::f32, {float8_history_size});
          const DType to = fill == Fill::normal ? DType::bf16 : DType::f32;
          Attributes whole;
          whole.operand = format;
          add(cases, operation, whole, {{dense(from, shape), fill}}, {dense(to, shape)});
          add(cases, operation, whole, {{dense(from, shape), fill}, {history, Fill::small}},
              {dense(to, shape), history});
          Attributes tiles = whole;
          tiles.rows = fill == Fill::normal ? 1 : 128;
          tiles.width = 128;
          add(cases, operation, tiles, {{window(from, shape, 3), fill}}, {window(to, shape, 5)});
          add(cases, operation, tiles, {{dense(from, shape), fill}, {history, Fill::small}},
              {dense(to, shape), history});
        }
      }
    }
  }
  return cases;
}

std::vector<Case> block_adamw_cases(const Operation&) {
  std::vector<Case> cases;
  Attributes attributes = update_attributes(AdamW::pytorch, Rounding::stochastic);
  attributes.width = 256;
  for (const Shape& shape : {Shape{1}, Shape{37}, Shape{256}, Shape{65, 129}, Shape{200, 515}}) {
    for (const DType weight : floats) {
      for (const DType gradient : floats)
        add_block_update(cases, attributes, {{weight, shape, true, gradient}}, LostUpdates::counted);
    }
  }
  attributes.adamw = AdamW::cs336;
  attributes.rounding = Rounding::nearest;
  std::vector<Parameter> list;
  for (const Shape& shape : odd_shapes()) list.push_back({floats[list.size() / 2 % std::size(floats)], shape, true});
  add_block_update(cases, attributes, list, LostUpdates::uncounted);
  return cases;
}

std::vector<Case> optimizer_cases(const Operation& operation) {
  std::vector<Case> cases;
  for (const DType weight : floats) {
    for (const Shape& shape : {Shape{1}, Shape{37}, Shape{65, 129}, Shape{200, 515}}) {
      for (const AdamW variant : {AdamW::pytorch, AdamW::cs336}) {
        for (const Rounding rounding : {Rounding::nearest, Rounding::stochastic}) {
          if (rounding == Rounding::stochastic && weight != DType::bf16) continue;
          const bool counted = weight == DType::f32 && shape.size() == 1;
          add_update(cases, operation, update_attributes(variant, rounding), {{weight, shape, true}},
                     counted ? LostUpdates::counted : LostUpdates::uncounted);
        }
      }
    }
  }
  add_lists(cases, operation);
  add_own_dtypes(cases, operation);
  return cases;
}

std::vector<Case> l2_norm_cases(const Operation& operation) {
  std::vector<Case> cases;
  for (const DType dtype : floats) {
    for (const Shape& shape : {Shape{1}, Shape{37}, Shape{65, 129}, Shape{400, 515}})
      add(cases, operation, {}, {{dense(dtype, shape)}}, {dense(DType::f32, {1})});
  }
  std::vector<Filled> list;
  for (const Shape& shape : odd_shapes()) list.push_back({dense(floats[list.size() / 2 % std::size(floats)], shape)});
  add(cases, operation, {}, list, {dense(DType::f32, {static_cast<std::int64_t>(list.size())})});
  return cases;
}

}  // namespace assay::contract
