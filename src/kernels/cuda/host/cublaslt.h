#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>

#include "kernels/cuda/launch.h"

/// Matrix products by cuBLASLt, which is opened when the first one is prepared. In tests on the host, loops stand in
/// for the library (product_on_host.cc), so that layouts, offsets and workspaces are checked without a GPU.
namespace assay::ASSAY_CUDA_NAMESPACE {

/// A matrix as the library sees it: column-major, `stride` elements from column to column. A row-major (rows, width)
/// tensor is a (width, rows) matrix here.
struct Matrix {
  DType dtype = DType::f32;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t stride = 0;
  std::int64_t batch_stride = 0;  ///< Elements from one product of a batch to the next.
  std::int64_t step = 0;          ///< Elements from one launch to the next, where several share a product.
  /// Whether the address is a multiple of what alignment_of says, though columns be shorter than the stride.
  enum class Placed : std::uint8_t { anywhere, aligned } placed = Placed::anywhere;

  /// Columns of wider ones: its address may be any multiple of an element.
  bool is_window() const { return stride != rows && placed == Placed::anywhere; }
};

/// What every address of such a matrix is a multiple of, as far as rows, batches and steps tell; at most 16 bytes.
std::uint32_t alignment_of(const Matrix& matrix);

enum class Turned : std::uint8_t { no, yes };

/// c = f(alpha [a_scale] op(a) [b_scale] op(b) + beta onto + bias)    op: transposed where turned; bias: (c.rows), c's
/// dtype; onto: as c
struct ProductShape {
  Matrix a, b, c;
  Turned a_turned = Turned::no;
  Turned b_turned = Turned::no;
  int batches = 1;
  float alpha = 1;  ///< Of s8 products: 1.
  float beta = 0;
  std::int64_t onto_stride = 0;              ///< Where beta is not 0.
  Activation activation = Activation::none;  ///< none, relu or gelu_tanh
  bool has_bias = false;
  bool has_scales = false;  ///< Of a and b in 8-bit floats, each by a number of its own.

  /// Names it among all others: what a measured choice is kept under.
  std::string key() const;
  std::int64_t inner() const { return a_turned == Turned::yes ? a.rows : a.columns; }
};

/// The same with operands of one dtype: f32 beside tf32 is multiplied as tf32, and a tf32 result is stored as f32.
ProductShape as_multiplied(ProductShape shape);

/// Where the matrices lie, all on the GPU.
struct ProductMemory {
  const std::byte* a = nullptr;
  const std::byte* b = nullptr;
  std::byte* c = nullptr;
  const std::byte* onto = nullptr;  ///< Null: c itself.
  const std::byte* bias = nullptr;  ///< At a multiple of 16 bytes, whatever the matrices' alignment.
  std::byte* workspace = nullptr;
  const float* a_scale = nullptr;  ///< Where the shape has scales: what a and b are multiplied by.
  const float* b_scale = nullptr;
};

constexpr std::uintptr_t bias_alignment = 16;

/// Whether the addresses are multiples of what alignment_of says; windows may lie otherwise.
bool is_aligned(const ProductShape& shape, const ProductMemory& memory);

/// A product with the algorithm that was measured fastest among those that the library's heuristic proposes, here or in
/// an earlier run on this GPU, driver and library. Windows that lie at odd addresses take the heuristic's first among
/// those that need no alignment.
class Product {
 public:
  /// Says in words where the library has no algorithm for it. Throws Error(lacking) where there is no library.
  static std::variant<std::shared_ptr<const Product>, Declined> make(const ProductShape& shape);
  ~Product();

  void run(const ProductMemory& memory) const;
  std::size_t workspace_bytes() const;
  /// What is multiplied.
  DType operand() const;
  /// "algorithm 66, tile 20, stages 15, split-K 1; tensor cores (HMMA), bf16 in, f32 sums; fastest of 8"
  std::string description() const;

 private:
  struct State;
  explicit Product(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// What the library adds in for operands of that dtype: s32 for s8, else f32.
DType accumulator_of(DType operand);
/// What the library wants the rows of a and c, the inner size and all strides of such a product to be multiples of: s8
/// 4, e4m3 and e5m2 16.
constexpr std::int64_t size_step(DType operand) {
  return operand == DType::s8 ? 4 : size_of(operand) == 1 ? 16 : 1;
}

}  // namespace assay::ASSAY_CUDA_NAMESPACE
