#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tensor/dtype.h"

namespace assay {

/// Row-major extents, outermost first.
using Shape = std::vector<std::int64_t>;

/// Product of the extents; 1 for a scalar. Throws a user error where it passes 2^62 or an extent is negative.
std::int64_t element_count(const Shape& shape);
/// "(2, 128, 768)".
std::string to_string(const Shape& shape);

/// A dense row-major tensor somewhere in memory, not owned, not written through.
struct TensorView {
  DType dtype = DType::f32;
  Shape shape;
  const std::byte* data = nullptr;

  std::int64_t count() const { return element_count(shape); }
  std::size_t bytes() const { return static_cast<std::size_t>(count()) * size_of(dtype); }
  template <typename T>
  const T* as() const {
    return reinterpret_cast<const T*>(data);
  }
};

/// Uninitialised, zero-able, 64-byte aligned memory.
struct FreeMemory {
  void operator()(std::byte* memory) const { std::free(memory); }
};
using AlignedBytes = std::unique_ptr<std::byte[], FreeMemory>;
/// Throws OutOfMemory where the system refuses. Pages are not touched. `alignment`: a power of two.
AlignedBytes allocate_aligned(std::size_t bytes, std::size_t alignment = 64);

/// A dense row-major tensor that owns its memory (64-byte aligned, not initialised).
class Tensor {
 public:
  Tensor() = default;
  Tensor(DType dtype, Shape shape);

  DType dtype() const { return view_.dtype; }
  const Shape& shape() const { return view_.shape; }
  std::int64_t count() const { return view_.count(); }
  std::size_t bytes() const { return view_.bytes(); }
  const TensorView& view() const { return view_; }
  std::byte* data() { return memory_.get(); }
  const std::byte* data() const { return memory_.get(); }
  template <typename T>
  T* as() {
    return reinterpret_cast<T*>(memory_.get());
  }
  template <typename T>
  const T* as() const {
    return reinterpret_cast<const T*>(memory_.get());
  }

 private:
  AlignedBytes memory_;
  TensorView view_;
};

/// A copy of the tensor in another dtype.
Tensor converted(const TensorView& from, DType dtype);

}  // namespace assay
