#pragma once

#include <map>
#include <string>

#include "program/program.h"
#include "tensor/tensor.h"

namespace assay {

/// Tensors that outlive runs and that runs may write: parameters in training, their gradients, an optimizer's moments.
/// Plans that share a state see one another's results.
class State {
 public:
  /// The tensor of that name; made of zeros at the first call. Its dtype and shape never change.
  Tensor& at(const std::string& name, DType dtype, const Shape& shape);
  /// The tensor of that name, or null.
  Tensor* find(const std::string& name);
  const Tensor* find(const std::string& name) const;
  const std::map<std::string, Tensor>& tensors() const { return tensors_; }
  std::int64_t bytes() const;

 private:
  std::map<std::string, Tensor> tensors_;
};

/// Bytes of the program's state at that extent that `state` does not hold yet.
std::int64_t missing_state_bytes(const Program& program, const State& state, Extent extent);

}  // namespace assay
