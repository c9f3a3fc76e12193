#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/threads.h"
#include "hardware/isa_cap.h"
#include "hardware/machine.h"
#include "kernels/cpu/linear_testing.h"
#include "kernels/kernel.h"

namespace assay::cpu {
namespace {

using testing::LinearCase;
using testing::LinearProblem;

std::span<const Implementation> implementations(const Backend& backend, const Operation* operation) {
  for (const OperationKernels& kernels : backend.table) {
    if (kernels.operation == operation) return kernels.implementations;
  }
  return {};
}

std::vector<float> reference_y(LinearProblem& problem) {
  set_threads(1);
  const MachineFacts facts;
  const Offer offer = prepare(reference_backend(), problem.call(), facts);
  const Prepared& prepared = std::get<Prepared>(offer);
  problem.hand_over(prepared);
  problem.run(prepared);
  return problem.y();
}

/// Units in the last place of the output dtype that its rounding and the order of f32 sums may cost, relative to the
/// largest magnitude of y.
double tolerance(const LinearCase& c) {
  if (c.accumulator == DType::f16) return 0.01;
  // Of f32: one output of 77 products that cancel lay 2.3e-6 off in another order.
  const double rounding = c.y == DType::f32 ? 4e-6 : c.y == DType::f16 ? 1e-3 : 8e-3;
  return rounding;
}

void expect_close(const LinearCase& c, const std::vector<float>& expected, const std::vector<float>& found) {
  double largest = 1e-6;
  for (const float value : expected) largest = std::max(largest, std::abs(static_cast<double>(value)));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_NEAR(expected[i], found[i], largest * tolerance(c)) << "element " << i << " of " << to_string(c);
  }
}

/// Runs every implementation of the cpu backend that takes the case; returns how many besides the reference did.
int check_all(const LinearCase& c, const MachineFacts& facts) {
  LinearProblem problem(c);
  const std::vector<float> expected = reference_y(problem);
  int taken = 0;
  for (const Implementation& implementation : implementations(cpu_backend(), problem.call().operation)) {
    if (std::string_view(implementation.name) == "reference loops") continue;
    const Offer offer = implementation.prepare(problem.call(), facts);
    if (!std::holds_alternative<Prepared>(offer)) continue;
    const Prepared& prepared = std::get<Prepared>(offer);
    SCOPED_TRACE(std::string(implementation.name) + ": " + prepared.description);
    problem.hand_over(prepared);
    problem.clear_y();
    problem.run(prepared);
    expect_close(c, expected, problem.y());
    EXPECT_TRUE(problem.gaps_untouched()) << to_string(c);
    ++taken;
  }
  return taken;
}

struct Dtypes {
  DType x;
  DType weight;
  DType y;
};

constexpr Dtypes dtypes[] = {
    {DType::f32, DType::f32, DType::f32},   {DType::bf16, DType::bf16, DType::bf16},
    {DType::bf16, DType::bf16, DType::f32}, {DType::f16, DType::f16, DType::f16},
    {DType::f16, DType::f16, DType::f32},   {DType::s8, DType::s8, DType::f32},
    {DType::s8, DType::s8, DType::bf16},    {DType::f32, DType::s8, DType::f32},
    {DType::bf16, DType::s8, DType::bf16},  {DType::f16, DType::s8, DType::f16},
    {DType::e4m3, DType::e4m3, DType::f32}, {DType::e4m3, DType::e4m3, DType::bf16},
};

const MachineFacts& facts() {
  static const MachineFacts facts = read_machine_facts();
  return facts;
}

class LinearTest : public ::testing::TestWithParam<Dtypes> {
 protected:
  static LinearCase base() {
    LinearCase c;
    c.x = GetParam().x;
    c.weight = GetParam().weight;
    c.y = GetParam().y;
    return c;
  }
};

TEST_P(LinearTest, EveryKernelAgreesWithTheLoopsAtOddShapes) {
  LinearCase c = base();
  for (const std::int64_t in : {1, 3, 32, 77, 256}) {
    for (const std::int64_t out : {1, 31, 32, 65, 96}) {
      for (const std::int64_t rows : {1, 2, 3, 4, 5, 13, 40}) {
        c.rows = rows;
        c.in = in;
        c.out = out;
        check_all(c, facts());
      }
    }
  }
}

TEST_P(LinearTest, EveryNumberOfRows) {
  LinearCase c = base();
  c.in = 64;
  c.out = 48;
  for (c.rows = 0; c.rows <= 50; ++c.rows) check_all(c, facts());
}

TEST_P(LinearTest, FewRowsUnderLesserInstructionSets) {
  LinearCase c = base();
  c.activation = Activation::silu;
  c.threads = 3;
  for (const char* cap : {"avx512", "avx2"}) {
    MachineFacts capped = facts();
    capped.isa = capped.isa & find_isa_cap(cap).allowed;
    for (const std::int64_t in : {1, 77, 600}) {
      for (c.rows = 1; c.rows <= few_rows; ++c.rows) {
        c.in = in;
        c.out = 2100;  // enough bytes for several threads
        check_all(c, capped);
      }
    }
  }
}

TEST_P(LinearTest, DeepAndWide) {
  LinearCase c = base();
  c.rows = 150;
  c.in = 1030;
  c.out = 130;
  check_all(c, facts());
}

TEST_P(LinearTest, WindowsIntoWiderRows) {
  LinearCase c = base();
  c.rows = 17;
  c.in = 80;
  c.out = 45;
  c.x_gap = 13;
  c.y_gap = 7;
  check_all(c, facts());
  c.x_gap = 1024 - c.in;
  check_all(c, facts());
}

TEST_P(LinearTest, BiasAndActivationInTheEpilogue) {
  LinearCase c = base();
  c.rows = 9;
  c.in = 24;
  c.out = 50;
  for (const Activation activation : {Activation::none, Activation::relu, Activation::gelu_erf, Activation::gelu_tanh,
                                      Activation::silu, Activation::tanh}) {
    c.activation = activation;
    for (const auto bias : {LinearCase::Bias::absent, LinearCase::Bias::f32, LinearCase::Bias::f16}) {
      c.bias = bias;
      check_all(c, facts());
    }
  }
}

TEST_P(LinearTest, AnyNumberOfThreads) {
  LinearCase c = base();
  c.in = 96;
  c.out = 130;
  for (c.threads = 1; c.threads <= 5; ++c.threads) {
    for (const std::int64_t rows : {1, 30, 150}) {
      c.rows = rows;
      check_all(c, facts());
    }
  }
}

TEST_P(LinearTest, WeightsThatChangeBetweenCalls) {
  LinearCase c = base();
  c.kind = LinearCase::Weight::changing;
  c.rows = 20;
  c.in = 72;
  c.out = 70;
  check_all(c, facts());
}

INSTANTIATE_TEST_SUITE_P(Dtypes, LinearTest, ::testing::ValuesIn(dtypes), [](const auto& instance) {
  return fmt::format("{}_{}_{}", name(instance.param.x), name(instance.param.weight), name(instance.param.y));
});

TEST(Linear, F32HasAFastKernelWhereTheMachineHasAvx2) {
  if (!facts().isa.avx2) GTEST_SKIP() << "no AVX2 here";
  LinearCase c;
  c.rows = 33;
  c.in = 64;
  c.out = 96;
  EXPECT_GT(check_all(c, facts()), 0);
}

TEST(Linear, AWeightPackedOtherwiseIsLeftAlone) {
  LinearCase c;
  c.rows = 4;
  c.in = 64;
  c.out = 64;
  const LinearProblem problem(c);
  Call call = problem.call();
  call.inputs[1].packing = {.kind = Packing::Kind::panels, .dtype = DType::f32, .width = 16, .group = 1};
  EXPECT_TRUE(std::holds_alternative<Declined>(prepare(cpu_backend(), call, facts())));
}

}  // namespace
}  // namespace assay::cpu
