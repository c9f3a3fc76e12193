#include "kernels/contract_cases.h"

namespace assay::contract {
namespace {

/// A parameter of a list: everything of it has that dtype and shape.
struct Parameter {
  DType dtype = DType::f32;
  Shape shape;
  bool momentum = true;  ///< sgd has none where its beta1 is 0.
};

enum class LostUpdates : std::uint8_t { uncounted, counted };

/// Weights, gradients and moments of each; hyper and seed at the end.
void add_update(std::vector<Case>& cases, const Operation& operation, const Attributes& attributes,
                const std::vector<Parameter>& parameters, LostUpdates lost) {
  const bool adam = &operation == &op::adamw;
  std::vector<Filled> inputs;
  std::vector<Argument> outputs;
  for (const Parameter& parameter : parameters) {
    const Argument tensor = dense(parameter.dtype, parameter.shape);
    const Argument momentum = parameter.momentum ? tensor : Argument{};
    inputs.insert(inputs.end(), {{tensor}, {tensor}, {momentum, Fill::small}});
    if (adam) inputs.push_back({tensor, Fill::small});
    outputs.insert(outputs.end(), {tensor, momentum});
    if (adam) outputs.push_back(tensor);
  }
  inputs.push_back({dense(DType::f32, {4}), Fill::small});
  inputs.push_back({dense(DType::s32, {2}), Fill::whole});
  if (lost == LostUpdates::counted)
    outputs.push_back(dense(DType::s32, {static_cast<std::int64_t>(parameters.size())}));
  add(cases, operation, attributes, inputs, outputs);
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

}  // namespace

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
