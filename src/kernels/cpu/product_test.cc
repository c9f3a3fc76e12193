#include "kernels/cpu/product.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "base/random.h"
#include "hardware/machine.h"
#include "kernels/cpu/matmul_codes.h"
#include "kernels/cpu/micro/simulated_tiles.h"
#include "tensor/tensor.h"

namespace assay::cpu {
namespace {

struct ProductCase {
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t depth;
  Factor::Order a;
  Factor::Order b;
};

/// Small integers: products and sums are exact in every dtype, whatever their order.
Tensor integers(Shape shape, DType dtype, std::uint64_t stream) {
  Tensor wide(DType::f32, std::move(shape));
  Random random(3, stream);
  for (std::int64_t i = 0; i < wide.count(); ++i) wide.as<float>()[i] = static_cast<float>(random.below(7)) - 3;
  return converted(wide.view(), dtype);
}

Factor factor_over(const Tensor& tensor, Factor::Order order) {
  return {.data = tensor.data(),
          .dtype = tensor.dtype(),
          .rounded = tensor.dtype(),
          .stride_bytes = tensor.shape()[1] * static_cast<std::int64_t>(size_of(tensor.dtype())),
          .order = order};
}

float value(const Tensor& f32, Factor::Order order, std::int64_t outer, std::int64_t k) {
  const std::int64_t width = f32.shape()[1];
  return f32.as<float>()[order == Factor::Order::k_contiguous ? outer * width + k : k * width + outer];
}

Shape shape_of(Factor::Order order, std::int64_t outer, std::int64_t depth) {
  return order == Factor::Order::k_contiguous ? Shape{outer, depth} : Shape{depth, outer};
}

ProductMemory places(const Memory& memory) {
  return {memory.in<std::byte>(0),  memory.in<std::byte>(1),  nullptr,
          memory.out<std::byte>(0), memory.out<std::byte>(0), memory.workspace};
}

/// y = a b + y, with y in place, against plain loops; equal to the last bit.
void expect_exact(const ProductCase& c, const MatmulCode& code) {
  const Tensor a = integers(shape_of(c.a, c.rows, c.depth), code.operand, 0);
  const Tensor b = integers(shape_of(c.b, c.columns, c.depth), code.operand, 1);
  Tensor y = integers({c.rows, c.columns}, DType::f32, 2);
  const Tensor before = integers({c.rows, c.columns}, DType::f32, 2);
  const Product product = {.rows = c.rows,
                           .columns = c.columns,
                           .depth = c.depth,
                           .a = factor_over(a, c.a),
                           .b = factor_over(b, c.b),
                           .bias = DType::f32,
                           .onto = {nullptr, DType::f32, c.columns * 4},
                           .y = {nullptr, DType::f32, c.columns * 4},
                           .threads = 2};
  const Prepared prepared = prepare_product(product, read_machine_facts(), code, places);
  const AlignedBytes workspace = allocate_aligned(prepared.workspace_bytes);
  std::memset(workspace.get(), 0xff, prepared.workspace_bytes);  // not numbers
  const std::byte* const inputs[] = {a.data(), b.data()};
  std::byte* const outputs[] = {y.data()};
  prepared.kernel->run({.inputs = inputs, .outputs = outputs, .workspace = workspace.get()});
  const Tensor wide_a = converted(a.view(), DType::f32);
  const Tensor wide_b = converted(b.view(), DType::f32);
  for (std::int64_t row = 0; row < c.rows; ++row) {
    for (std::int64_t column = 0; column < c.columns; ++column) {
      float sum = before.as<float>()[row * c.columns + column];
      for (std::int64_t k = 0; k < c.depth; ++k) sum += value(wide_a, c.a, row, k) * value(wide_b, c.b, column, k);
      ASSERT_EQ(sum, y.as<float>()[row * c.columns + column])
          << row << ", " << column << " of " << c.rows << " x " << c.columns << " x " << c.depth;
    }
  }
}

void expect_all_exact(const MatmulCode& code) {
  for (const Factor::Order a : {Factor::Order::k_contiguous, Factor::Order::k_strided}) {
    for (const Factor::Order b : {Factor::Order::k_contiguous, Factor::Order::k_strided}) {
      expect_exact({1, 1, 1, a, b}, code);
      expect_exact({13, 33, 7, a, b}, code);
      expect_exact({50, 70, 1031, a, b}, code);
      expect_exact({300, 40, 64, a, b}, code);
      expect_exact({192, 64, 512, a, b}, code);
      expect_exact({101, 17, 260, a, b}, code);
      expect_exact({5, 9, 0, a, b}, code);
    }
  }
}

TEST(Product, IsExactInF32) {
  const MachineFacts facts = read_machine_facts();
  if (!facts.isa.avx2) GTEST_SKIP() << "no AVX2 here";
  expect_all_exact(codes::f32_avx2());
  expect_all_exact(codes::f32_strips_avx2());
  if (facts.isa.avx512) expect_all_exact(codes::f32());
}

Tensor fractions(Shape shape, std::uint64_t stream) {
  Tensor made(DType::f32, std::move(shape));
  Random random(5, stream);
  for (std::int64_t i = 0; i < made.count(); ++i)
    made.as<float>()[i] = static_cast<float>(random.next_uniform()) - 0.5F;
  return made;
}

/// y = a b on that many threads.
Tensor product_of(const Tensor& a, const Tensor& b, const ProductCase& c, const MatmulCode& code, int threads) {
  const Product product = {.rows = c.rows,
                           .columns = c.columns,
                           .depth = c.depth,
                           .a = factor_over(a, c.a),
                           .b = factor_over(b, c.b),
                           .bias = DType::f32,
                           .onto = {},
                           .y = {nullptr, DType::f32, c.columns * 4},
                           .threads = threads};
  const auto without_onto = [](const Memory& m) -> ProductMemory {
    return {m.in<std::byte>(0), m.in<std::byte>(1), nullptr, nullptr, m.out<std::byte>(0), m.workspace};
  };
  const Prepared prepared = prepare_product(product, read_machine_facts(), code, without_onto);
  const AlignedBytes workspace = allocate_aligned(prepared.workspace_bytes);
  std::memset(workspace.get(), 0xff, prepared.workspace_bytes);  // not numbers
  Tensor y(DType::f32, {c.rows, c.columns});
  const std::byte* const inputs[] = {a.data(), b.data()};
  std::byte* const outputs[] = {y.data()};
  prepared.kernel->run({.inputs = inputs, .outputs = outputs, .workspace = workspace.get()});
  return y;
}

/// What makes a training's bits depend on neither threads nor on how a product is cut for this machine's caches.
TEST(Product, AddsInTheOrderOfKWhateverItsCut) {
  const MachineFacts facts = read_machine_facts();
  if (!facts.isa.avx2) GTEST_SKIP() << "no AVX2 here";
  constexpr auto strided = Factor::Order::k_strided;
  constexpr auto contiguous = Factor::Order::k_contiguous;
  for (const ProductCase& c : {ProductCase{205, 83, 1000, contiguous, contiguous},
                               {205, 83, 1000, contiguous, strided},
                               {205, 83, 1000, strided, strided},
                               {7, 40, 300, strided, contiguous}}) {
    const Tensor a = fractions(shape_of(c.a, c.rows, c.depth), 0);
    const Tensor b = fractions(shape_of(c.b, c.columns, c.depth), 1);
    const Tensor strips = product_of(a, b, c, codes::f32_strips_avx2(), 1);
    const Tensor blocks = product_of(a, b, c, codes::f32_avx2(), 3);
    for (std::int64_t row = 0; row < c.rows; ++row) {
      for (std::int64_t column = 0; column < c.columns; ++column) {
        float sum = 0;
        for (std::int64_t k = 0; k < c.depth; ++k) sum = std::fma(value(a, c.a, row, k), value(b, c.b, column, k), sum);
        ASSERT_EQ(strips.as<float>()[row * c.columns + column], sum) << row << ", " << column;
        ASSERT_EQ(blocks.as<float>()[row * c.columns + column], sum) << row << ", " << column;
      }
    }
  }
}

/// y = a b, from `offset` bytes behind a line on; `read_late` lets it go past the caches.
Tensor weight_gradient_of(const Tensor& a, const Tensor& b, DType dtype, std::int64_t offset, bool read_late) {
  MachineFacts facts = read_machine_facts();
  facts.caches = {{.level = 2, .bytes = 1024}};  // the result counts as large
  const std::int64_t size = static_cast<std::int64_t>(size_of(dtype));
  const std::int64_t rows = a.shape()[1];
  const std::int64_t columns = b.shape()[1];
  const Product product = {.rows = rows,
                           .columns = columns,
                           .depth = a.shape()[0],
                           .a = factor_over(a, Factor::Order::k_strided),
                           .b = factor_over(b, Factor::Order::k_strided),
                           .bias = DType::f32,
                           .onto = {},
                           .y = {nullptr, dtype, columns * size},
                           .threads = 2,
                           .read_late = read_late};
  const auto memory = [](const Memory& m) -> ProductMemory {
    return {m.in<std::byte>(0), m.in<std::byte>(1), nullptr, nullptr, m.out<std::byte>(0), m.workspace};
  };
  const MatmulCode code = facts.isa.avx512 ? codes::f32() : codes::f32_strips_avx2();
  const Prepared prepared = prepare_product(product, facts, code, memory);
  const AlignedBytes workspace = allocate_aligned(prepared.workspace_bytes);
  const auto bytes = static_cast<std::size_t>(rows * columns * size);
  const AlignedBytes place = allocate_aligned(bytes + 64);
  const std::byte* const inputs[] = {a.data(), b.data()};
  std::byte* const outputs[] = {place.get() + offset};
  prepared.kernel->run({.inputs = inputs, .outputs = outputs, .workspace = workspace.get()});
  Tensor y(dtype, {rows, columns});
  std::memcpy(y.data(), place.get() + offset, bytes);
  return y;
}

TEST(Product, GoesPastTheCachesWithTheSameBits) {
  if (!read_machine_facts().isa.avx2) GTEST_SKIP() << "no AVX2 here";
  for (const std::int64_t columns : {64, 96, 70}) {
    const Tensor a = fractions({50, 130}, 0);
    const Tensor b = fractions({50, columns}, 1);
    for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
      const Tensor kept = weight_gradient_of(a, b, dtype, 0, false);
      for (const std::int64_t offset : {0, 4, 32}) {
        const Tensor late = weight_gradient_of(a, b, dtype, offset, true);
        EXPECT_EQ(std::memcmp(kept.data(), late.data(), kept.bytes()), 0)
            << columns << " of " << name(dtype) << " from " << offset;
      }
    }
  }
}

TEST(Product, IsExactInBf16DotProducts) {
  const MachineFacts facts = read_machine_facts();
  if (!facts.isa.avx512_bf16 || !facts.isa.avx512) GTEST_SKIP() << "no AVX512-BF16 here";
  expect_all_exact(codes::bf16_dot_products());
}

TEST(Product, IsExactInBf16Tiles) {
  MatmulCode code = codes::bf16_tiles();
  code.multiply = micro::multiply_simulated<micro::SimulatedBf16Tiles>;
  expect_all_exact(code);
}

/// A packed copy of a vocabulary's head would take 150 MB.
TEST(Product, NeedsLittleMemoryWhateverItsShape) {
  const MachineFacts facts = read_machine_facts();
  for (const Factor::Order order : {Factor::Order::k_contiguous, Factor::Order::k_strided}) {
    const Factor wide = {
        .data = nullptr, .dtype = DType::f32, .rounded = DType::f32, .stride_bytes = 0, .order = order};
    for (const auto& [rows, columns, depth] :
         {std::tuple{4096, 50257, 768}, std::tuple{50257, 768, 4096}, std::tuple{4096, 768, 50257}}) {
      const Product product = {.rows = rows,
                               .columns = columns,
                               .depth = depth,
                               .a = wide,
                               .b = wide,
                               .bias = DType::f32,
                               .onto = {},
                               .y = {nullptr, DType::f32, 0},
                               .threads = 2};
      EXPECT_LE(prepare_product(product, facts, codes::f32(), places).workspace_bytes, 4U << 20U);
      EXPECT_LE(prepare_product(product, facts, codes::f32_strips_avx2(), places).workspace_bytes, 4U << 20U);
      EXPECT_LE(prepare_product(product, facts, codes::bf16_tiles(), places).workspace_bytes, 5U << 20U);
    }
  }
}

}  // namespace
}  // namespace assay::cpu
