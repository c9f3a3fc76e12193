#include "runtime/state.h"

#include "base/error.h"

namespace assay {

std::byte* State::memory(const std::string& name, DType dtype, const Shape& shape) {
  if (tensors_.count(name) == 0) {
    Tensor copy(dtype, shape);
    DeviceBytes made = device_.is_host() ? DeviceBytes() : allocate_on(device_, copy.bytes());  // It may refuse.
    tensors_.emplace(name, std::move(copy));
    if (!device_.is_host()) on_device_.emplace(name, std::move(made));
    clear(name);
  }
  Tensor& tensor = tensors_.at(name);
  ASSAY_ASSERT(tensor.dtype() == dtype && tensor.shape() == shape);
  return device_.is_host() ? tensor.data() : on_device_.at(name).get();
}

Tensor& State::at(const std::string& name, DType dtype, const Shape& shape) {
  memory(name, dtype, shape);
  return *find(name);
}

Tensor* State::find(const std::string& name) {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) return nullptr;
  fetch(name, found->second);
  return &found->second;
}

const Tensor* State::find(const std::string& name) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) return nullptr;
  fetch(name, found->second);
  return &found->second;
}

const std::map<std::string, Tensor>& State::tensors() const {
  for (auto& [name, tensor] : tensors_) fetch(name, tensor);
  return tensors_;
}

void State::fetch(const std::string& name, Tensor& copy) const {
  if (!device_.is_host()) device_.download(copy.data(), on_device_.at(name).get(), copy.bytes());
}

void State::store(const std::string& name) {
  const Tensor& copy = tensors_.at(name);
  if (!device_.is_host()) device_.upload(on_device_.at(name).get(), copy.data(), copy.bytes());
}

void State::clear(const std::string& name) {
  Tensor& tensor = tensors_.at(name);
  device_.clear(device_.is_host() ? tensor.data() : on_device_.at(name).get(), tensor.bytes());
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
    if (value.source == Source::state && !state.holds(value.name))
      total += storage_bytes(program, static_cast<ValueId>(id), extent);
  }
  return total;
}

}  // namespace assay
