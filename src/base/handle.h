#pragma once

#include <utility>

namespace assay {

/// Owns a resource of a C interface; `destroy` runs once, when the owner goes. The one RAII wrapper of the project.
template <typename T, auto destroy, T none = T{}>
class Handle {
 public:
  Handle() = default;
  explicit Handle(T value) : value_(value) {}
  Handle(Handle&& other) noexcept : value_(std::exchange(other.value_, none)) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() {
    if (value_ != none) destroy(value_);
  }

  T get() const { return value_; }
  explicit operator bool() const { return value_ != none; }

 private:
  T value_ = none;
};

}  // namespace assay
