#pragma once

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "base/random.h"
#include "kernels/kernel.h"

/// Linear calls with random tensors, for tests and benchmarks of their kernels.
namespace assay::cpu::testing {

struct LinearCase {
  std::int64_t rows = 1;
  std::int64_t in = 1;
  std::int64_t out = 1;
  DType x = DType::f32;
  DType weight = DType::f32;
  DType y = DType::f32;
  std::int64_t x_gap = 0;  ///< Elements between the end of a row and the next one.
  std::int64_t y_gap = 0;
  Activation activation = Activation::none;
  DType accumulator = DType::f32;
  int chunk = 0;
  int threads = 1;
  enum class Bias : std::uint8_t { absent, f32, f16 } bias = Bias::f32;
  enum class Weight : std::uint8_t { constant, changing } kind = Weight::constant;
};

inline std::string to_string(const LinearCase& c) {
  return fmt::format("{} x {} x {}, {} x {} -> {}, gaps {} {}, {}, acc {}, {} threads, bias {}", c.rows, c.in, c.out,
                     name(c.x), name(c.weight), name(c.y), c.x_gap, c.y_gap, name(c.activation), name(c.accumulator),
                     c.threads, static_cast<int>(c.bias));
}

/// A call with its tensors. With a weight of 8 bits it is a quantized_linear; x of 8 bits then comes with scales.
class LinearProblem {
 public:
  explicit LinearProblem(const LinearCase& linear) : case_(linear) {
    const bool quantized = size_of(linear.weight) == 1;
    const LinearCase& c = case_;
    add(c.x, {c.rows, c.in}, c.in + c.x_gap);
    if (quantized) size_of(c.x) == 1 ? add(DType::f32, {c.rows}, c.rows) : add_absent();
    add(c.weight, {c.out, c.in}, c.in);
    if (quantized) add(DType::f32, {c.out}, c.out);
    if (c.bias == LinearCase::Bias::absent) add_absent();
    if (c.bias != LinearCase::Bias::absent) add(bias_dtype(), {c.out}, c.out);
    for (std::size_t i = 1; i < call_.inputs.size(); ++i)
      call_.inputs[i].constant = c.kind == LinearCase::Weight::constant;
    call_.operation = quantized ? &op::quantized_linear : &op::linear;
    call_.attributes.activation = c.activation;
    call_.attributes.accumulator = c.accumulator;
    call_.attributes.chunk = c.chunk;
    call_.threads = c.threads;
    call_.outputs = {
        {.present = true, .dtype = c.y, .shape = {c.rows, c.out}, .row_stride = c.out + c.y_gap, .packing = {}}};
    y_ = Tensor(c.y, {c.rows, c.out + c.y_gap});
    clear_y();
  }

  const Call& call() const { return call_; }

  /// Packs what the kernel wants packed, into memory of its own, and gives it its workspace.
  void hand_over(const Prepared& prepared) {
    inputs_.clear();
    packed_.clear();
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      const bool present = call_.inputs[i].present;
      inputs_.push_back(present ? tensors_[i].data() : nullptr);
      if (i >= prepared.packing.size() || prepared.packing[i].kind == Packing::Kind::plain) continue;
      const Packing& packing = prepared.packing[i];
      const std::size_t bytes = packed_bytes(packing, call_.inputs[i].shape[0], call_.inputs[i].shape[1]);
      packed_.emplace_back(DType::u8, Shape{static_cast<std::int64_t>(bytes)});
      pack(tensors_[i].view(), packing, packed_.back().data());
      inputs_.back() = packed_.back().data();
    }
    workspace_ = Tensor(DType::u8, {static_cast<std::int64_t>(prepared.workspace_bytes)});
    if (prepared.workspace_bytes != 0) std::memset(workspace_.data(), 0xff, prepared.workspace_bytes);
  }

  void run(const Prepared& prepared) {
    std::byte* const outputs[] = {y_.data()};
    prepared.kernel->run({.inputs = inputs_, .outputs = outputs, .workspace = workspace_.data()});
  }

  /// y as (rows, out) of f32, without what lies between its rows.
  std::vector<float> y() const {
    const Tensor wide = converted(y_.view(), DType::f32);
    std::vector<float> values;
    for (std::int64_t row = 0; row < case_.rows; ++row) {
      const float* first = wide.as<float>() + row * (case_.out + case_.y_gap);
      values.insert(values.end(), first, first + case_.out);
    }
    return values;
  }

  /// Whether the bytes between the rows of y are as clear_y left them.
  bool gaps_untouched() const {
    const std::size_t size = size_of(case_.y);
    const auto stride = static_cast<std::size_t>(case_.out + case_.y_gap) * size;
    for (std::size_t i = 0; i < y_.bytes(); ++i) {
      if (i % stride >= static_cast<std::size_t>(case_.out) * size && y_.data()[i] != std::byte{0xff}) return false;
    }
    return true;
  }

  void clear_y() {
    if (y_.bytes() != 0) std::memset(y_.data(), 0xff, y_.bytes());
  }

 private:
  DType bias_dtype() const { return case_.bias == LinearCase::Bias::f16 ? DType::f16 : DType::f32; }

  void add_absent() {
    call_.inputs.emplace_back();
    tensors_.emplace_back();
  }

  void add(DType dtype, Shape shape, std::int64_t row_stride) {
    const std::int64_t rows = shape.size() == 2 ? shape[0] : 1;
    Tensor wide(DType::f32, {rows, row_stride});
    Random random(11, tensors_.size());
    for (std::int64_t i = 0; i < wide.count(); ++i) wide.as<float>()[i] = value(dtype, shape.size(), random);
    tensors_.push_back(converted(wide.view(), dtype));
    call_.inputs.push_back(
        {.present = true, .dtype = dtype, .shape = std::move(shape), .row_stride = row_stride, .packing = {}});
  }

  /// Weights about as a model's, integers over their whole range, scales positive.
  static float value(DType dtype, std::size_t axes, Random& random) {
    const double uniform = 2 * random.next_uniform() - 1;
    if (dtype == DType::e4m3) return static_cast<float>(uniform * 448);
    if (dtype == DType::s8) return static_cast<float>(std::nearbyint(uniform * 127));
    return static_cast<float>(axes == 1 ? 0.02 + 0.01 * uniform : uniform);
  }

  LinearCase case_;
  Call call_;
  std::vector<Tensor> tensors_;
  std::vector<Tensor> packed_;
  Tensor y_;
  Tensor workspace_;
  std::vector<const std::byte*> inputs_;
};

}  // namespace assay::cpu::testing
