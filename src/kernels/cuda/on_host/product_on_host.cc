#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/error.h"
#include "kernels/cuda/formulas.h"
#include "kernels/cuda/host/cublaslt.h"
#include "kernels/cuda/on_host/spoiled.h"
#include "tensor/dtype.h"

// Loops in cuBLASLt's place, for tests on the host. They take what the library takes, want the addresses that it wants
// and spoil the workspace that they asked for.
namespace assay::ASSAY_CUDA_NAMESPACE {
namespace {

bool is_8bit_float(DType dtype) {
  return dtype == DType::e4m3 || dtype == DType::e5m2;
}

/// What the library refuses; empty where it multiplies.
std::string fault_of(const ProductShape& shape) {
  const std::int64_t step = size_step(shape.a.dtype);
  for (const std::int64_t size : {shape.c.rows, shape.inner(), shape.a.stride, shape.b.stride, shape.c.stride}) {
    if (size % step != 0) return fmt::format("{} sizes are no multiples of {}", name(shape.a.dtype), step);
  }
  if (shape.a.dtype == DType::tf32 && shape.c.columns == 1 && shape.c.rows % 4 != 0) return "tf32: an odd vector";
  const bool is_window = shape.a.is_window() || shape.b.is_window() || shape.c.is_window();
  if (size_of(shape.a.dtype) == 1 && is_window) return "a window of bytes may lie anywhere";
  if (!is_8bit_float(shape.a.dtype)) return "";
  if (shape.a.dtype == DType::e5m2 && shape.b.dtype == DType::e5m2) return "e5m2 by e5m2";
  if (shape.a_turned == Turned::no || shape.b_turned == Turned::yes) return "e4m3: a alone has to be turned";
  const DType c = shape.c.dtype;
  if (c != DType::f32 && c != DType::f16 && c != DType::bf16) return "e4m3: c is none of its floats";
  return "";
}

/// `count` vectors of `inner` elements each, which lie behind one another, rounded as operands are.
struct Vectors {
  std::vector<float> values;
  std::int64_t inner;

  const float* at(std::int64_t vector) const { return values.data() + vector * inner; }
};

/// Columns of the matrix as vectors, or its rows.
Vectors vectors_of(const std::byte* data, const Matrix& matrix, bool by_rows) {
  const std::int64_t inner = by_rows ? matrix.columns : matrix.rows;
  Vectors vectors{std::vector<float>(static_cast<std::size_t>(matrix.rows * matrix.columns)), inner};
  for (std::int64_t i = 0; i < matrix.rows * matrix.columns; ++i) {
    const std::int64_t row = by_rows ? i / inner : i % inner;
    const std::int64_t column = by_rows ? i % inner : i / inner;
    const float value = load(matrix.dtype, data, row + column * matrix.stride);
    vectors.values[static_cast<std::size_t>(i)] = matrix.dtype == DType::tf32 ? round_to(DType::tf32, value) : value;
  }
  return vectors;
}

/// One product of a batch.
void multiply(const ProductShape& shape, const ProductMemory& memory) {
  const Vectors a = vectors_of(memory.a, shape.a, shape.a_turned == Turned::no);
  const Vectors b = vectors_of(memory.b, shape.b, shape.b_turned == Turned::yes);
  for (std::int64_t column = 0; column < shape.c.columns; ++column) {
    for (std::int64_t row = 0; row < shape.c.rows; ++row) {
      const float scales = shape.has_scales ? *memory.a_scale * *memory.b_scale : 1;
      float sum = shape.alpha * scales * std::inner_product(a.at(row), a.at(row) + a.inner, b.at(column), 0.0F);
      if (shape.beta != 0) sum += shape.beta * load(shape.c.dtype, memory.onto, row + column * shape.onto_stride);
      if (shape.has_bias) sum += load(shape.c.dtype, memory.bias, row);
      store(shape.c.dtype, memory.c, row + column * shape.c.stride, activate(shape.activation, sum));
    }
  }
}

std::int64_t batch_bytes(const Matrix& matrix) {
  return matrix.batch_stride * static_cast<std::int64_t>(size_of(matrix.dtype));
}

}  // namespace

struct Product::State {
  ProductShape shape;
};

Product::Product(std::unique_ptr<State> state) : state_(std::move(state)) {}
Product::~Product() = default;

std::variant<std::shared_ptr<const Product>, Declined> Product::make(const ProductShape& asked) {
  const ProductShape shape = as_multiplied(asked);
  ASSAY_ASSERT(shape.a.dtype == shape.b.dtype || (is_8bit_float(shape.a.dtype) && is_8bit_float(shape.b.dtype)));
  if (const std::string fault = fault_of(shape); !fault.empty()) return Declined{fault};
  return std::shared_ptr<const Product>(new Product(std::make_unique<State>(State{shape})));
}

void Product::run(const ProductMemory& asked) const {
  const ProductShape& shape = state_->shape;
  const bool may_be_odd = shape.a.is_window() || shape.b.is_window() || shape.c.is_window();
  ASSAY_ASSERT(may_be_odd || is_aligned(shape, asked));
  ASSAY_ASSERT(!shape.has_bias || reinterpret_cast<std::uintptr_t>(asked.bias) % bias_alignment == 0);
  std::fill_n(asked.workspace, spoiled_bytes, std::byte{0xFF});
  ProductMemory memory = asked;
  if (memory.onto == nullptr) memory.onto = memory.c;
  for (int batch = 0; batch < shape.batches; ++batch) {
    multiply(shape, memory);
    memory.a += batch_bytes(shape.a);
    memory.b += batch_bytes(shape.b);
    memory.c += batch_bytes(shape.c);
    memory.onto += batch_bytes(shape.c);
  }
}

std::size_t Product::workspace_bytes() const {
  return spoiled_bytes;
}

DType Product::operand() const {
  return state_->shape.a.dtype;
}

std::string Product::description() const {
  return "loops in cuBLASLt's place";
}

}  // namespace assay::ASSAY_CUDA_NAMESPACE
