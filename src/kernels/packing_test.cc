#include "kernels/packing.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "base/random.h"
#include "kernels/pack_parts.h"

namespace assay {
namespace {

struct Case {
  Packing packing;
  std::int64_t out;
  std::int64_t in;
};

class PackingTest : public testing::TestWithParam<Case> {};

Tensor random_bytes(DType dtype, Shape shape) {
  Tensor tensor(dtype, std::move(shape));
  Random random(7);
  for (std::size_t i = 0; i < tensor.bytes(); ++i) tensor.data()[i] = static_cast<std::byte>(random.next_u32() >> 24);
  return tensor;
}

TEST_P(PackingTest, EveryElementLiesWhereTheFormulaSaysAndPaddingIsZero) {
  const auto& [packing, out, in] = GetParam();
  const Tensor weight = random_bytes(packing.dtype, {out, in});
  Tensor packed(DType::u8, {static_cast<std::int64_t>(packed_bytes(packing, out, in))});
  std::memset(packed.data(), 0xaa, packed.bytes());
  pack(weight.view(), packing, packed.data());
  const std::size_t size = size_of(packing.dtype);
  const std::int64_t padded_out = (out + packing.width - 1) / packing.width * packing.width;
  const std::int64_t padded_in = (in + packing.group - 1) / packing.group * packing.group;
  const std::vector<std::byte> zero(size);
  for (std::int64_t n = 0; n < padded_out; ++n) {
    for (std::int64_t k = 0; k < padded_in; ++k) {
      const bool inside = n < out && k < in;
      const std::byte* expected = inside ? weight.data() + static_cast<std::size_t>(n * in + k) * size : zero.data();
      const std::byte* found = packed.data() + static_cast<std::size_t>(panel_offset(packing, in, n, k)) * size;
      ASSERT_EQ(0, std::memcmp(expected, found, size)) << "n " << n << ", k " << k;
    }
  }
}

constexpr Packing::Kind panels = Packing::Kind::panels;
INSTANTIATE_TEST_SUITE_P(
    Shapes, PackingTest,
    testing::Values(Case{{panels, DType::f32, 32, 1}, 64, 40}, Case{{panels, DType::f32, 32, 1}, 33, 7},
                    Case{{panels, DType::f16, 32, 1}, 31, 65}, Case{{panels, DType::bf16, 32, 2}, 70, 33},
                    Case{{panels, DType::bf16, 16, 2}, 1, 1}, Case{{panels, DType::s8, 32, 4}, 50, 101},
                    Case{{panels, DType::s8, 32, 4}, 96, 130}));

TEST(Packing, ColumnSumsFollowTheS8Panels) {
  const Packing packing = {panels, DType::s8, 32, 4};
  const Tensor weight = random_bytes(DType::s8, {45, 37});
  Tensor packed(DType::u8, {static_cast<std::int64_t>(packed_bytes(packing, 45, 37))});
  pack(weight.view(), packing, packed.data());
  const auto* sums = reinterpret_cast<const std::int32_t*>(packed.data() + column_sums_offset(packing, 45, 37));
  for (std::int64_t n = 0; n < 64; ++n) {
    std::int32_t expected = 0;
    for (std::int64_t k = 0; k < 37 && n < 45; ++k) expected += weight.as<std::int8_t>()[n * 37 + k];
    EXPECT_EQ(expected, sums[n]) << "output " << n;
  }
}

TEST(Packing, PlainKeepsTheBytes) {
  const Packing packing = {.kind = Packing::Kind::plain, .dtype = DType::bf16};
  const Tensor weight = random_bytes(DType::bf16, {5, 9});
  ASSERT_EQ(weight.bytes(), packed_bytes(packing, 5, 9));
  Tensor packed(DType::bf16, {5, 9});
  pack(weight.view(), packing, packed.data());
  EXPECT_EQ(0, std::memcmp(weight.data(), packed.data(), weight.bytes()));
}

Tensor random_floats(DType dtype, Shape shape) {
  Tensor values(DType::f32, std::move(shape));
  Random random(11);
  for (std::int64_t i = 0; i < values.count(); ++i) values.as<float>()[i] = static_cast<float>(random.next_normal());
  return converted(values.view(), dtype);
}

/// The parts as one weight of that dtype.
Tensor joined_as(DType dtype, const std::vector<TensorView>& parts) {
  std::int64_t out = 0;
  for (const TensorView& part : parts) out += part.shape[0];
  Tensor whole(dtype, {out, parts[0].shape[1]});
  std::byte* to = whole.data();
  for (const TensorView& part : parts) {
    const Tensor rounded = converted(part, dtype);
    std::memcpy(to, rounded.data(), rounded.bytes());
    to += rounded.bytes();
  }
  return whole;
}

TEST(Packing, RowsOfPartsInAnyFloatEqualOneWeightThatWasRoundedBefore) {
  const Tensor first = random_floats(DType::f32, {45, 301});
  const Tensor second = random_floats(DType::bf16, {32, 301});
  const Tensor third = random_floats(DType::f16, {7, 301});
  const std::vector<TensorView> parts = {first.view(), second.view(), third.view()};
  for (const Packing& packing : {Packing{panels, DType::f32, 32, 1}, Packing{panels, DType::bf16, 32, 2},
                                 Packing{panels, DType::f16, 16, 1}, Packing{.dtype = DType::bf16}}) {
    const std::size_t bytes = packed_bytes(packing, 84, 301);
    Tensor expected(DType::u8, {static_cast<std::int64_t>(bytes)});
    Tensor found(DType::u8, {static_cast<std::int64_t>(bytes)});
    pack(joined_as(packing.dtype, parts).view(), packing, expected.data());
    pack_parts(parts, packing, found.data());
    EXPECT_EQ(0, std::memcmp(expected.data(), found.data(), bytes)) << to_string(packing);
  }
}

TEST(Packing, SaysItsLayout) {
  EXPECT_EQ("plain", to_string(Packing{}));
  EXPECT_EQ("panels of 32, groups of 2", to_string(Packing{panels, DType::bf16, 32, 2}));
}

}  // namespace
}  // namespace assay
