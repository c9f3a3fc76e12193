#pragma once

#include <map>
#include <string>

#include "program/program.h"
#include "tensor/device.h"
#include "tensor/tensor.h"

namespace assay {

/// Tensors that outlive runs and that runs may write: parameters in training, their gradients, an optimizer's moments.
/// Plans that share a state see one another's results.
///
/// The host reads and writes them as Tensors. On a device each of those is a copy, fetched whenever it is asked for;
/// what the host wrote into it is in force once store() was called.
class State {
 public:
  /// `device` outlives the state.
  explicit State(const Device& device) : device_(device) {}
  State() : State(host_device()) {}
  /// Where kernels find the tensor of that name; made of zeros at the first call. Its dtype and shape never change.
  std::byte* memory(const std::string& name, DType dtype, const Shape& shape);
  /// The same for the host.
  Tensor& at(const std::string& name, DType dtype, const Shape& shape);
  /// The tensor of that name, or null.
  Tensor* find(const std::string& name);
  const Tensor* find(const std::string& name) const;
  const std::map<std::string, Tensor>& tensors() const;
  /// Hands what the host wrote into the tensor to the device.
  void store(const std::string& name);
  void clear(const std::string& name);
  bool holds(const std::string& name) const { return tensors_.count(name) != 0; }
  std::int64_t bytes() const;

 private:
  void fetch(const std::string& name, Tensor& copy) const;

  const Device& device_;
  mutable std::map<std::string, Tensor>
      tensors_;  ///< On a device: the host's copies, whose pages are touched when used.
  std::map<std::string, DeviceBytes> on_device_;
};

/// Bytes of the program's state at that extent that `state` does not hold yet.
std::int64_t missing_state_bytes(const Program& program, const State& state, Extent extent);

}  // namespace assay
