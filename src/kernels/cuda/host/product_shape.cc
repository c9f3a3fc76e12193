#include <fmt/format.h>

#include "kernels/cuda/host/cublaslt.h"

namespace assay::ASSAY_CUDA_NAMESPACE {

std::uint32_t alignment_of(const Matrix& matrix) {
  const auto bytes = static_cast<std::int64_t>(size_of(matrix.dtype));
  std::int64_t alignment = 16;
  for (const std::int64_t distance : {matrix.stride, matrix.batch_stride, matrix.step}) {
    while (distance * bytes % alignment != 0) alignment /= 2;
  }
  return static_cast<std::uint32_t>(alignment);
}

std::string ProductShape::key() const {
  const auto words = [](const Matrix& m) {
    return fmt::format("{}:{}x{}/{}+{}+{}", name(m.dtype), m.rows, m.columns, m.stride, m.batch_stride, m.step);
  };
  return fmt::format("{}{} {}{} -> {} x{} beta {} {} {}{}", words(a), a_turned == Turned::yes ? "T" : "", words(b),
                     b_turned == Turned::yes ? "T" : "", words(c), batches, beta != 0 ? onto_stride : 0,
                     name(activation), has_bias ? "bias" : "-", has_scales ? " scaled" : "");
}

ProductShape as_multiplied(ProductShape shape) {
  if (shape.a.dtype == DType::tf32 || shape.b.dtype == DType::tf32) shape.a.dtype = shape.b.dtype = DType::tf32;
  if (shape.c.dtype == DType::tf32) shape.c.dtype = DType::f32;
  return shape;
}

bool is_aligned(const ProductShape& shape, const ProductMemory& memory) {
  const auto fits = [](const std::byte* address, const Matrix& matrix) {
    return reinterpret_cast<std::uintptr_t>(address) % alignment_of(matrix) == 0;
  };
  return fits(memory.a, shape.a) && fits(memory.b, shape.b) && fits(memory.c, shape.c) &&
         (memory.onto == nullptr || fits(memory.onto, shape.c));
}

DType accumulator_of(DType operand) {
  return operand == DType::s8 ? DType::s32 : DType::f32;
}

}  // namespace assay::ASSAY_CUDA_NAMESPACE
