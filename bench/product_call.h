#pragma once

// A call of a product with its tensors, for benchmarks of weights that memory gives.

#include <algorithm>
#include <utility>
#include <vector>

#include "kernels/kernel.h"
#include "tensor/make_blocks.h"
#include "tensor/slabs.h"

namespace assay {

struct ProductShape {
  std::int64_t rows;
  std::int64_t in;
  std::int64_t out;
};

/// Of what the weight is, and what multiplies it.
struct Kind {
  const Operation* operation;
  DType x;
  DType weight;
  const BlockFormat* blocks;
};

/// Numbers of about 1 where they are floats, which are nowhere subnormal; else bytes.
inline Tensor filled(DType dtype, const Shape& shape) {
  const bool bytes = size_of(dtype) == 1;
  Tensor tensor(bytes ? dtype : DType::f32, shape);
  const std::int64_t count = tensor.count();
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t number = (i * 7 + i / 64) % 48;
    if (bytes) tensor.data()[i] = static_cast<std::byte>(number);
    if (!bytes) tensor.as<float>()[i] = static_cast<float>(number - 24) / 16;
  }
  return bytes || dtype == DType::f32 ? std::move(tensor) : converted(tensor.view(), dtype);
}

/// A call with its tensors; blocks are bytes at random with scales of one size.
class Product {
 public:
  Product(const Kind& kind, const ProductShape& s, int threads) {
    call_.operation = kind.operation;
    call_.attributes.blocks = kind.blocks;
    call_.threads = threads;
    const bool has_scales = kind.operation != &op::linear && kind.operation != &op::block_linear;
    add(kind.x, {s.rows, s.in});
    if (has_scales && kind.x == DType::s8)
      add(DType::f32, kind.blocks != nullptr ? Shape{s.rows, activation_groups(s.in)} : Shape{s.rows});
    if (has_scales && kind.x != DType::s8) add_absent();
    weight_ = call_.inputs.size();
    add(kind.weight, {s.out, kind.blocks != nullptr ? kind.blocks->bytes_of(s.in) : s.in});
    if (kind.operation == &op::quantized_linear) add(DType::f32, {s.out});
    for (std::size_t i = weight_; i < call_.inputs.size(); ++i) call_.inputs[i].constant = true;
    add_absent();
    y_ = Tensor(DType::bf16, {s.rows, s.out});
    outputs_ = {y_.data()};
    call_.outputs = {
        {.present = true, .dtype = DType::bf16, .shape = {s.rows, s.out}, .row_stride = s.out, .packing = {}}};
  }
  const Call& call() const { return call_; }

  /// Packs the weight into memory of `slabs`, which outlive the product.
  void hand_over(const Prepared& prepared, Slabs& slabs) {
    const Packing& packing = prepared.packing[weight_];
    const Shape& shape = call_.inputs[weight_].shape;
    packed_ = packed_bytes(packing, shape[0], shape[1]);
    std::byte* const to = slabs.take(packed_);
    pack(tensors_[weight_].view(), packing, to);
    data_[weight_] = to;
    tensors_[weight_] = Tensor();
    workspace_ = allocate_aligned(std::max<std::size_t>(prepared.workspace_bytes, 64));
  }
  Memory memory() const { return {.inputs = data_, .outputs = outputs_, .workspace = workspace_.get()}; }
  double weight_bytes() const { return static_cast<double>(packed_); }

 private:
  void add(DType dtype, const Shape& shape) {
    const Tensor& tensor = tensors_.emplace_back(filled(dtype, shape));
    call_.inputs.push_back(
        {.present = true, .dtype = dtype, .shape = shape, .row_stride = shape.back(), .packing = {}});
    data_.push_back(tensor.data());
  }
  void add_absent() {
    tensors_.emplace_back();
    call_.inputs.emplace_back();
    data_.push_back(nullptr);
  }

  Call call_;
  std::size_t weight_ = 1;
  std::vector<Tensor> tensors_;
  std::vector<const std::byte*> data_;
  std::size_t packed_ = 0;
  AlignedBytes workspace_;
  Tensor y_;
  std::vector<std::byte*> outputs_;
};

}  // namespace assay
