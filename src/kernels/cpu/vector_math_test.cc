#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>
#include <string>
#include <vector>

#include "hardware/machine.h"
#include "kernels/kernel.h"

namespace assay {
namespace {

/// f of every value, through the activation kernel of the cpu backend.
std::vector<float> activated(Activation activation, std::vector<float> values, const MachineFacts& facts) {
  const auto count = static_cast<std::int64_t>(values.size());
  const Argument row = {.present = true, .dtype = DType::f32, .shape = {1, count}, .row_stride = count, .packing = {}};
  Call call;
  call.operation = &op::activation;
  call.attributes.activation = activation;
  call.inputs = {row};
  call.outputs = {row};
  const Offer offer = prepare(cpu_backend(), call, facts);
  const std::byte* in[] = {reinterpret_cast<const std::byte*>(values.data())};
  std::vector<float> result(values.size());
  std::byte* out[] = {reinterpret_cast<std::byte*>(result.data())};
  std::get<Prepared>(offer).kernel->run({in, out, nullptr});
  return result;
}

/// Every 997th float of magnitude 2^-20 .. 30, of both signs.
std::vector<float> over_the_range() {
  std::vector<float> values = {0.0F, -0.0F};
  for (std::uint32_t bits = 0x35800000; bits < 0x41f00000; bits += 997) {
    values.push_back(std::bit_cast<float>(bits));
    values.push_back(-std::bit_cast<float>(bits));
  }
  return values;
}

double exact(Activation activation, double x) {
  switch (activation) {
    case Activation::gelu_erf:
      return 0.5 * x * std::erfc(-x / std::numbers::sqrt2);
    case Activation::gelu_tanh: {
      const double u = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
      return x / (1 + std::exp(-2 * u));
    }
    case Activation::silu:
      return x / (1 + std::exp(-x));
    default:
      return std::tanh(x);
  }
}

struct Largest {
  double absolute = 0;
  double relative = 0;
};

Largest errors(Activation activation, const MachineFacts& facts) {
  const std::vector<float> values = over_the_range();
  const std::vector<float> found = activated(activation, values, facts);
  Largest largest;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double right = exact(activation, values[i]);
    const double error = std::abs(found[i] - right);
    largest.absolute = std::max(largest.absolute, error / std::max(1.0, std::abs(right)));
    if (right != 0) largest.relative = std::max(largest.relative, error / std::abs(right));
  }
  return largest;
}

MachineFacts facts_with_avx2_at_most() {
  MachineFacts facts = read_machine_facts();
  facts.isa = {.avx2 = facts.isa.avx2};
  return facts;
}

class VectorMath : public testing::TestWithParam<const char*> {
 protected:
  MachineFacts facts() const {
    return std::string(GetParam()) == "all" ? read_machine_facts() : facts_with_avx2_at_most();
  }
};

TEST_P(VectorMath, TanhIsRightTo4e7OfItself) {
  EXPECT_LE(errors(Activation::tanh, facts()).relative, 4e-7);
}

// For large negative x the result vanishes where e^x does.
TEST_P(VectorMath, SiluIsRightTo4e7) {
  EXPECT_LE(errors(Activation::silu, facts()).relative, 4e-7);
}

TEST_P(VectorMath, GeluTanhIsRightTo4e7) {
  EXPECT_LE(errors(Activation::gelu_tanh, facts()).absolute, 4e-7);
}

// 1 + erf loses the left tail's relative precision: there |x| / 2 times erf's error remains.
TEST_P(VectorMath, GeluErfIsRightTo8e7) {
  EXPECT_LE(errors(Activation::gelu_erf, facts()).absolute, 8e-7);
}

TEST_P(VectorMath, NotANumberStaysNotANumber) {
  const std::vector<float> nan(17, std::numeric_limits<float>::quiet_NaN());
  for (const Activation activation : {Activation::relu, Activation::gelu_erf, Activation::gelu_tanh, Activation::silu,
                                      Activation::tanh, Activation::none}) {
    for (const float value : activated(activation, nan, facts())) EXPECT_TRUE(std::isnan(value)) << name(activation);
  }
}

INSTANTIATE_TEST_SUITE_P(InstructionSets, VectorMath, testing::Values("all", "avx2", "none"),
                         [](const auto& one) { return std::string(one.param); });

}  // namespace
}  // namespace assay
