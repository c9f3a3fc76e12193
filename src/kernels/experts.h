#pragma once

#include <array>

#include "kernels/kernel.h"

/// Operations over experts (op::expert_linear, ...) as calls of the linear operation that each of them runs.
namespace assay {

std::size_t experts_of(const Call& call);
/// What expert `index` is asked to do with so many rows.
Call expert_call(const Call& call, std::size_t index, std::int64_t rows);
/// Where its tensors lie, from grouped row `first` on.
struct ExpertMemory {
  std::array<const std::byte*, 5> inputs = {};
  std::array<std::byte*, 1> outputs = {};
};
ExpertMemory expert_memory(const Call& call, const Memory& memory, std::size_t index, std::int64_t first);
/// The call itself, or that of its first expert: what decides about its products.
Call product_of(const Call& call);

/// A kernel that takes the experts in turn, all by the one that `prepare_one` gives for the first: their weights are
/// alike. Declines what that declines, and kernels for one number of rows.
Offer expert_by_expert(const Call& call, const MachineFacts& facts,
                       Offer (*prepare_one)(const Call&, const MachineFacts&));

/// The same as a function of its own, for backends' tables.
template <Offer (*prepare_one)(const Call&, const MachineFacts&)>
Offer each_expert(const Call& call, const MachineFacts& facts) {
  return expert_by_expert(call, facts, prepare_one);
}

/// The gradients of all experts' weights, one after the other, by the kernel that `prepare_one` gives for one.
Offer weight_gradients(const Call& call, const MachineFacts& facts,
                       Offer (*prepare_one)(const Call&, const MachineFacts&));
template <Offer (*prepare_one)(const Call&, const MachineFacts&)>
Offer each_weight_gradient(const Call& call, const MachineFacts& facts) {
  return weight_gradients(call, facts, prepare_one);
}

/// Of op::expert_linear_weight_gradient: what is asked of one expert with so many rows, and where they lie.
Call weight_gradient_call(const Call& call, std::size_t expert, std::int64_t rows);
/// body(expert, its two inputs, rows) for every expert, also those without rows.
template <typename Body>
void for_each_weight_gradient(const Call& call, const Memory& memory, Body body);

/// Of op::merge_rows and the gradients beside it: the grouped row of each token's experts, into `places` (B, T, k).
/// `order` is the input that says where rows come from.
void find_grouped_rows(const Call& call, const Memory& memory, std::size_t order, std::int32_t* places);

/// body(expert, first row, rows) for each that has rows; `call` as above.
template <typename Body>
void for_each_expert(const Call& call, const Memory& memory, Body body) {
  const auto* offsets = memory.in<std::int32_t>(expert_places(*call.operation)->offsets);
  for (std::size_t expert = 0; expert < experts_of(call); ++expert) {
    const std::int64_t first = offsets[expert];
    const std::int64_t rows = offsets[expert + 1] - first;
    if (rows > 0) body(expert, first, rows);
  }
}

/// Where the rows of tokens are after grouping.
struct TokenPlaces {
  const std::int32_t* places = nullptr;  ///< (tokens, active)
  const float* weights = nullptr;        ///< (tokens, active); null: every row counts once.
  std::int64_t active = 0;
};

/// Bytes from one row of a matrix to the next, of a vector from one element to the next.
std::size_t row_bytes(const Argument& argument);

template <typename Body>
void for_each_weight_gradient(const Call& call, const Memory& memory, Body body) {
  const auto* offsets = memory.in<std::int32_t>(2);
  for (std::size_t expert = 0; expert < call.outputs.size(); ++expert) {
    const auto first = static_cast<std::size_t>(offsets[expert]);
    const std::array<const std::byte*, 2> inputs = {memory.inputs[0] + first * row_bytes(call.in(0)),
                                                    memory.inputs[1] + first * row_bytes(call.in(1))};
    body(expert, inputs, std::int64_t{offsets[expert + 1]} - offsets[expert]);
  }
}

}  // namespace assay
