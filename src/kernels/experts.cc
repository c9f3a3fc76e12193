#include "kernels/experts.h"

#include <algorithm>

namespace assay {
namespace {

const Operation& inner_operation(const Operation& operation) {
  if (&operation == &op::expert_quantized_linear) return op::quantized_linear;
  if (&operation == &op::expert_quantized_block_linear) return op::quantized_block_linear;
  if (&operation == &op::expert_linear_input_gradient) return op::linear_input_gradient;
  return &operation == &op::expert_block_linear ? op::block_linear : op::linear;
}

/// The place in the outer call of input `inner` of an expert's.
std::size_t outer_place(const ExpertPlaces& places, std::size_t expert, std::size_t inner) {
  return inner < places.offsets ? inner : places.first + expert * places.each + (inner - places.offsets);
}

Argument first_rows(Argument argument, std::int64_t rows) {
  if (argument.present) argument.shape[0] = rows;
  return argument;
}

/// Of the place `weight` and what stands beside it in the inner call.
bool weights_are_alike(const Call& call) {
  const ExpertPlaces places = *expert_places(*call.operation);
  for (std::size_t i = places.first; i < call.inputs.size(); ++i) {
    const Argument& one = call.in(i);
    const Argument& other = call.in(places.first + (i - places.first) % places.each);
    if (one.packing != other.packing || one.constant != other.constant || one.dtype != other.dtype) return false;
  }
  return true;
}

/// The inner kernel's wishes, for every expert.
std::vector<Packing> packings(const Call& call, const std::vector<Packing>& inner) {
  const ExpertPlaces places = *expert_places(*call.operation);
  std::vector<Packing> all(call.inputs.size());
  for (std::size_t i = places.first; i < all.size(); ++i) {
    const std::size_t place = places.offsets + (i - places.first) % places.each;
    if (place < inner.size()) all[i] = inner[place];
  }
  return all;
}

}  // namespace

std::size_t experts_of(const Call& call) {
  const ExpertPlaces places = *expert_places(*call.operation);
  return (call.inputs.size() - places.first) / places.each;
}

Call expert_call(const Call& call, std::size_t index, std::int64_t rows) {
  Call one{&inner_operation(*call.operation), call.attributes, {}, {}, call.threads};
  const ExpertPlaces places = *expert_places(*call.operation);
  for (std::size_t i = 0; i < places.offsets + places.each; ++i) {
    const Argument& argument = call.in(outer_place(places, index, i));
    one.inputs.push_back(i < places.offsets ? first_rows(argument, rows) : argument);
  }
  one.outputs = {first_rows(call.out(0), rows)};
  return one;
}

ExpertMemory expert_memory(const Call& call, const Memory& memory, std::size_t index, std::int64_t first) {
  const auto row = static_cast<std::size_t>(first);
  ExpertMemory one;
  const ExpertPlaces places = *expert_places(*call.operation);
  for (std::size_t i = 0; i < places.offsets + places.each; ++i) {
    const std::size_t place = outer_place(places, index, i);
    const std::byte* tensor = memory.inputs[place];
    const bool moves = i < places.offsets && tensor != nullptr;
    one.inputs.at(i) = moves ? tensor + row * row_bytes(call.in(place)) : tensor;
  }
  one.outputs[0] = memory.outputs[0] + row * row_bytes(call.out(0));
  return one;
}

Call product_of(const Call& call) {
  return expert_places(*call.operation) ? expert_call(call, 0, call.in(0).rows()) : call;
}

void find_grouped_rows(const Call& call, const Memory& memory, std::size_t order, std::int32_t* places) {
  const auto* const from = memory.in<std::int32_t>(order);
  const std::int64_t count = element_count(call.in(order).shape);
  for (std::int64_t i = 0; i < count; ++i) places[from[i]] = static_cast<std::int32_t>(i);
}

std::size_t row_bytes(const Argument& argument) {
  const bool is_vector = argument.shape.size() == 1;
  const std::int64_t stride = argument.row_stride > 0 ? argument.row_stride : argument.width();
  return static_cast<std::size_t>(is_vector ? 1 : stride) * size_of(argument.dtype);
}

Call weight_gradient_call(const Call& call, std::size_t expert, std::int64_t rows) {
  return {&op::linear_weight_gradient,
          call.attributes,
          {first_rows(call.in(0), rows), first_rows(call.in(1), rows)},
          {call.out(expert)},
          call.threads};
}

Offer weight_gradients(const Call& call, const MachineFacts& facts,
                       Offer (*prepare_one)(const Call&, const MachineFacts&)) {
  const auto is_alike = [&](const Argument& out) { return out.present && out.dtype == call.out(0).dtype; };
  if (!std::all_of(call.outputs.begin(), call.outputs.end(), is_alike))
    return Declined{"the experts' gradients are not alike"};
  Offer offer = prepare_one(weight_gradient_call(call, 0, call.in(0).rows()), facts);
  if (std::holds_alternative<Declined>(offer)) return offer;
  Prepared prepared = std::get<Prepared>(std::move(offer));
  if (!prepared.takes_rows) return Declined{"it multiplies one number of rows"};
  prepared.takes_rows = false;
  std::shared_ptr<const Kernel> kernel = std::move(prepared.kernel);
  prepared.kernel = make_kernel([call, kernel](const Memory& memory) {
    for_each_weight_gradient(call, memory, [&](std::size_t expert, const auto& inputs, std::int64_t rows) {
      kernel->run({inputs, memory.outputs.subspan(expert, 1), memory.workspace, rows});
    });
  });
  return prepared;
}

Offer expert_by_expert(const Call& call, const MachineFacts& facts,
                       Offer (*prepare_one)(const Call&, const MachineFacts&)) {
  if (!weights_are_alike(call)) return Declined{"the experts' weights are not alike"};
  Offer offer = prepare_one(product_of(call), facts);
  if (std::holds_alternative<Declined>(offer)) return offer;
  Prepared prepared = std::get<Prepared>(std::move(offer));
  if (!prepared.takes_rows) return Declined{"it multiplies one number of rows"};
  prepared.packing = packings(call, prepared.packing);
  prepared.takes_rows = false;
  std::shared_ptr<const Kernel> kernel = std::move(prepared.kernel);
  prepared.kernel = make_kernel([call, kernel](const Memory& memory) {
    for_each_expert(call, memory, [&](std::size_t expert, std::int64_t first, std::int64_t rows) {
      const ExpertMemory one = expert_memory(call, memory, expert, first);
      kernel->run({one.inputs, one.outputs, memory.workspace, rows});
    });
  });
  return prepared;
}

}  // namespace assay
