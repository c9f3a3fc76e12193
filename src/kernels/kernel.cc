#include "kernels/kernel.h"

#include "base/error.h"

namespace assay {

std::int64_t Argument::rows() const {
  std::int64_t product = 1;
  for (std::size_t axis = 0; axis + 1 < shape.size(); ++axis) product *= shape[axis];
  return product;
}

const Argument& Call::in(std::size_t index) const {
  static const Argument absent;
  return index < inputs.size() ? inputs[index] : absent;
}

const Argument& Call::out(std::size_t index) const {
  static const Argument absent;
  return index < outputs.size() ? outputs[index] : absent;
}

Offer prepare(const Backend& backend, const Call& call, const MachineFacts& facts) {
  std::string refusals;
  for (const OperationKernels& kernels : backend.table) {
    if (kernels.operation != call.operation) continue;
    for (const Implementation& implementation : kernels.implementations) {
      Offer offer = implementation.prepare(call, facts);
      if (std::holds_alternative<Prepared>(offer)) return offer;
      refusals +=
          fmt::format("{}{}: {}", refusals.empty() ? "" : "; ", implementation.name, std::get<Declined>(offer).why);
    }
  }
  if (refusals.empty()) refusals = fmt::format("{} has no kernel for {}", backend.name, call.operation->name);
  return Declined{refusals};
}

}  // namespace assay
