#include "kernels/one_by_one.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "program/update_list.h"

namespace assay {
namespace {

/// An operand of one tensor's call: where it stands in the list's.
struct Place {
  std::size_t operand = 0;
  std::size_t offset_bytes = 0;
};

struct Places {
  std::vector<Place> inputs;
  std::vector<Place> outputs;
  bool shares_last = false;  ///< The last output has an element for each tensor of the list.
};

Places norm_places(const Call& call, std::size_t index) {
  return {{{index, 0}}, {{0, index * size_of(call.out(0).dtype)}}, true};
}

Places update_places(const Call& call, std::size_t index) {
  const UpdateList list = update_list(*call.operation, call.inputs.size());
  Places places;
  for (std::size_t i = 0; i < list.inputs_each; ++i) places.inputs.push_back({list.input(index, i), 0});
  places.inputs.push_back({list.hyper(), 0});
  places.inputs.push_back({list.seed(), 0});
  for (std::size_t i = 0; i < list.outputs_each; ++i) places.outputs.push_back({list.output(index, i), 0});
  places.shares_last = call.out(list.lost()).present;
  if (places.shares_last) places.outputs.push_back({list.lost(), index * sizeof(std::int32_t)});
  return places;
}

Places places_of(const Call& call, std::size_t index) {
  return call.operation == &op::l2_norm ? norm_places(call, index) : update_places(call, index);
}

Call call_at(const Call& call, std::size_t index, const Places& places) {
  Call one{call.operation, call.attributes, {}, {}, call.threads};
  one.attributes.stream += static_cast<std::int64_t>(index);
  for (const Place& place : places.inputs) one.inputs.push_back(call.in(place.operand));
  for (const Place& place : places.outputs) one.outputs.push_back(call.out(place.operand));
  if (places.shares_last) one.outputs.back().shape = {1};
  return one;
}

/// A tensor's kernel and where it finds its operands.
struct ListedKernel {
  Places places;
  std::unique_ptr<Kernel> kernel;

  void run(const Memory& memory) const {
    constexpr std::size_t most = 8;  // block_adamw's inputs
    std::array<const std::byte*, most> inputs{};
    std::array<std::byte*, most> outputs{};
    for (std::size_t i = 0; i < places.inputs.size(); ++i) inputs.at(i) = memory.inputs[places.inputs[i].operand];
    for (std::size_t i = 0; i < places.outputs.size(); ++i)
      outputs.at(i) = memory.outputs[places.outputs[i].operand] + places.outputs[i].offset_bytes;
    kernel->run({std::span(inputs).first(places.inputs.size()), std::span(outputs).first(places.outputs.size()),
                 memory.workspace});
  }
};

}  // namespace

std::size_t listed(const Call& call) {
  return call.operation == &op::l2_norm ? call.inputs.size()
                                        : update_list(*call.operation, call.inputs.size()).parameters;
}

Call listed_call(const Call& call, std::size_t index) {
  return call_at(call, index, places_of(call, index));
}

Offer one_by_one(const Call& call, const MachineFacts& facts, Offer (*prepare_one)(const Call&, const MachineFacts&)) {
  std::vector<ListedKernel> kernels;
  std::optional<Prepared> first;
  std::size_t workspace_bytes = 0;
  for (std::size_t index = 0; index < listed(call); ++index) {
    const Places places = places_of(call, index);
    Offer offer = prepare_one(call_at(call, index, places), facts);
    if (std::holds_alternative<Declined>(offer)) return offer;
    Prepared& prepared = std::get<Prepared>(offer);
    workspace_bytes = std::max(workspace_bytes, prepared.workspace_bytes);
    kernels.push_back({places, std::move(prepared.kernel)});
    if (!first) first = std::move(prepared);
  }
  ASSAY_ASSERT(first.has_value());
  first->workspace_bytes = workspace_bytes;
  first->kernel = make_kernel([kernels = std::move(kernels)](const Memory& memory) {
    for (const ListedKernel& one : kernels) one.run(memory);
  });
  return std::move(*first);
}

}  // namespace assay
