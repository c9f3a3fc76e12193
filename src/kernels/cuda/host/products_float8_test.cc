#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/random.h"
#include "kernels/cuda/on_host/on_host.h"
#include "kernels/float8_scale.h"
#include "kernels/kernel.h"
#include "tensor/tensor.h"

// Products of operands that were rounded to 8 bits: the bytes that are made of them hold them exactly, so that the
// library's products are those of the wider values.
namespace assay {
namespace {

/// What lies between a product and its sum in f64, of its size.
constexpr double rounding = 1e-5;

MachineFacts facts_at_capability(ComputeCapability capability) {
  MachineFacts facts;
  facts.gpu = GpuFacts{.name = "a GPU", .capability = capability};
  return facts;
}

/// Numbers of the format times a power of two, as round_float8 leaves them: zeros, the largest and small ones too.
std::vector<float> rounded_values(std::int64_t count, DType format, float scale, std::uint64_t stream) {
  Random random(17, stream);
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto wide = static_cast<float>(std::ldexp(random.next_normal(), static_cast<int>(i % 23) - 14));
    const float limit = float8_limit(format);
    values.push_back(i % 11 == 0 ? 0 : round_to(format, std::clamp(wide, -limit, limit)) / scale);
  }
  if (count > 1) values[1] = float8_limit(format) / scale;
  return values;
}

struct Matrix8 {
  std::int64_t rows, width;
  DType format;
  float scale;
};

/// A call of an operation whose first two inputs are such matrices, in f32.
struct Float8Call {
  Call call;
  std::vector<std::vector<float>> inputs;
  std::vector<float> output;

  Float8Call(const Operation& operation, const Matrix8& a, const Matrix8& b, std::int64_t rows, std::int64_t width)
      : output(static_cast<std::size_t>(rows * width)) {
    call.operation = &operation;
    call.attributes.math = a.format;
    std::uint64_t stream = 0;
    for (const Matrix8& m : {a, b}) {
      call.inputs.push_back(argument(m.rows, m.width));
      inputs.push_back(rounded_values(m.rows * m.width, m.format, m.scale, ++stream));
    }
    call.outputs = {argument(rows, width)};
  }

  static Argument argument(std::int64_t rows, std::int64_t width) {
    return {.present = true, .dtype = DType::f32, .shape = {rows, width}, .row_stride = width, .packing = {}};
  }

  void add_input(std::vector<float> values, const Argument& like) {
    call.inputs.push_back(like);
    inputs.push_back(std::move(values));
  }

  Prepared run(const MachineFacts& facts) {
    Prepared prepared = std::get<Prepared>(prepare(cuda_on_host_backend(), call, facts));
    const AlignedBytes workspace = allocate_aligned(prepared.workspace_bytes);
    std::vector<const std::byte*> in;
    for (const std::vector<float>& one : inputs) in.push_back(reinterpret_cast<const std::byte*>(one.data()));
    std::byte* out[] = {reinterpret_cast<std::byte*>(output.data())};
    prepared.kernel->run({in, out, workspace.get()});
    return prepared;
  }

  double at(std::size_t input, std::int64_t row, std::int64_t column) const {
    return static_cast<double>(inputs[input][static_cast<std::size_t>(row * call.inputs[input].shape[1] + column)]);
  }

  /// `term(row, column, k)` summed over k.
  template <typename Term>
  void expect_sums(std::int64_t inner, Term term) const {
    const std::int64_t width = call.outputs[0].shape[1];
    for (std::int64_t i = 0; i < std::ssize(output); ++i) {
      double sum = 0;
      double size = 0;
      for (std::int64_t k = 0; k < inner; ++k) {
        const double one = term(i / width, i % width, k);
        sum += one;
        size += std::abs(one);
      }
      ASSERT_NEAR(static_cast<double>(output[static_cast<std::size_t>(i)]), sum, rounding * size + 1e-30) << i;
    }
  }
};

constexpr ComputeCapability hopper = {9, 0};

void expect_bytes(const Prepared& prepared) {
  EXPECT_EQ(prepared.operand, DType::e4m3);
  EXPECT_EQ(prepared.accumulator, DType::f32);
  EXPECT_EQ(prepared.verdict, Verdict::native) << prepared.evidence;
}

TEST(Float8Products, OfAllThreeInAStepAreThoseOfTheValues) {
  const Matrix8 x = {13, 40, DType::e4m3, 0x1p5F};
  const Matrix8 w = {32, 40, DType::e4m3, 0x1p-7F};
  const Matrix8 dy = {13, 32, DType::e5m2, 0x1p20F};
  Float8Call forward(op::linear, x, w, 13, 32);
  expect_bytes(forward.run(facts_at_capability(hopper)));
  forward.expect_sums(40, [&](auto row, auto n, auto k) { return forward.at(0, row, k) * forward.at(1, n, k); });

  const Matrix8 wide = {32, 48, DType::e4m3, 0x1p-7F};
  Float8Call input(op::linear_input_gradient, dy, wide, 13, 48);
  expect_bytes(input.run(facts_at_capability(hopper)));
  input.expect_sums(32, [&](auto row, auto k, auto n) { return input.at(0, row, n) * input.at(1, n, k); });

  const Matrix8 rows = {13, 48, DType::e4m3, 0x1p5F};
  Float8Call weight(op::linear_weight_gradient, dy, rows, 32, 48);
  expect_bytes(weight.run(facts_at_capability(hopper)));
  weight.expect_sums(13, [&](auto n, auto k, auto row) { return weight.at(0, row, n) * weight.at(1, row, k); });
}

TEST(Float8Products, AddABiasAndWhatAGradientIsAddedTo) {
  const Matrix8 x = {5, 32, DType::e4m3, 1};
  const Matrix8 w = {16, 32, DType::e4m3, 1};
  Float8Call forward(op::linear, x, w, 5, 16);
  Argument bias = Float8Call::argument(1, 16);
  bias.shape = {16};
  forward.add_input(std::vector<float>(16, 3.0F), bias);
  expect_bytes(forward.run(facts_at_capability(hopper)));
  forward.expect_sums(
      33, [&](auto row, auto n, auto k) { return k == 32 ? 3.0 : forward.at(0, row, k) * forward.at(1, n, k); });

  const Matrix8 dy = {5, 16, DType::e5m2, 1};
  Float8Call input(op::linear_input_gradient, dy, w, 5, 32);
  input.add_input(std::vector<float>(5 * 32, -2.0F), Float8Call::argument(5, 32));
  expect_bytes(input.run(facts_at_capability(hopper)));
  input.expect_sums(17,
                    [&](auto row, auto k, auto n) { return n == 16 ? -2.0 : input.at(0, row, n) * input.at(1, n, k); });
}

TEST(Float8Products, AreWidenedAndSaySoBefore89AndInOddSizes) {
  const Matrix8 x = {5, 32, DType::e4m3, 1};
  const auto said = [&](ComputeCapability capability, std::int64_t out) {
    Float8Call forward(op::linear, x, {out, 32, DType::e4m3, 1}, 5, out);
    const Prepared prepared = forward.run(facts_at_capability(capability));
    forward.expect_sums(32, [&](auto row, auto n, auto k) { return forward.at(0, row, k) * forward.at(1, n, k); });
    EXPECT_EQ(prepared.operand, DType::f32);
    return prepared.description;
  };
  EXPECT_NE(said({8, 6}, 16).find("widened: no e4m3 products at compute capability 8.6"), std::string::npos);
  EXPECT_NE(said(hopper, 20).find("widened: cuBLASLt makes e4m3 products in steps of 16 only"), std::string::npos);
}

}  // namespace
}  // namespace assay
