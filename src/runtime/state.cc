#include "runtime/state.h"

#include <cstring>

#include "base/error.h"

namespace assay {

Tensor& State::at(const std::string& name, DType dtype, const Shape& shape) {
  if (Tensor* known = find(name)) {
    ASSAY_ASSERT(known->dtype() == dtype && known->shape() == shape);
    return *known;
  }
  Tensor made(dtype, shape);
  std::memset(made.data(), 0, made.bytes());
  return tensors_.emplace(name, std::move(made)).first->second;
}

Tensor* State::find(const std::string& name) {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : &found->second;
}

const Tensor* State::find(const std::string& name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : &found->second;
}

std::int64_t State::bytes() const {
  std::int64_t total = 0;
  for (const auto& [name, tensor] : tensors_) total += static_cast<std::int64_t>(tensor.bytes());
  return total;
}

std::int64_t missing_state_bytes(const Program& program, const State& state, Extent extent) {
  std::int64_t total = 0;
  for (std::size_t id = 0; id < program.values.size(); ++id) {
    const Value& value = program.values[id];
    if (value.source == Source::state && state.find(value.name) == nullptr)
      total += storage_bytes(program, static_cast<ValueId>(id), extent);
  }
  return total;
}

}  // namespace assay
