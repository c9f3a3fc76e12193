#include <gtest/gtest.h>

#include <bit>
#include <cstring>

#include "base/threads.h"
#include "hardware/machine.h"
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/linear_testing.h"
#include "kernels/cpu/matmul_codes.h"
#include "kernels/cpu/micro/f16_chunk.h"
#include "kernels/cpu/micro/simulated_tiles.h"
#include "kernels/quantized_linear.h"
#include "kernels/verdict.h"
#include "tensor/small_float.h"

namespace assay::cpu {
namespace {

using testing::LinearCase;
using testing::LinearProblem;

/// 32 f16, each operation rounded once, as the vector registers of AVX512-FP16 do it.
struct SimulatedF16 {
  struct Vector {
    std::uint16_t lanes[32];
  };
  static float value(std::uint16_t bits) { return to_f32(f16{bits}); }
  static Vector zero() { return {}; }
  static Vector load_weights(const std::byte* panel) {
    Vector result;
    std::memcpy(&result, panel, sizeof(result));
    return result;
  }
  static Vector broadcast(const std::byte* a) {
    Vector result;
    for (auto& lane : result.lanes) std::memcpy(&lane, a, sizeof(lane));
    return result;
  }
  static Vector multiply_add(Vector sums, Vector a, Vector weights) {
    for (int i = 0; i < 32; ++i) {
      const double exact = static_cast<double>(value(a.lanes[i])) * value(weights.lanes[i]) + value(sums.lanes[i]);
      sums.lanes[i] = static_cast<std::uint16_t>(encode(exact, f16_format));
    }
    return sums;
  }
  static void flush(std::byte* c, Vector sums, micro::Sums mode) {
    auto* const f32 = reinterpret_cast<float*>(c);
    for (int i = 0; i < 32; ++i) f32[i] = (mode == micro::Sums::start ? 0 : f32[i]) + value(sums.lanes[i]);
  }
};

void multiply_simulated_f16(const micro::Block& block, int rows) {
  micro::multiply_f16_up_to<SimulatedF16, micro::vector_rows>(block, rows);
}

std::vector<float> run_with(const LinearCase& c, Offer offer) {
  LinearProblem problem(c);
  const auto& prepared = std::get<Prepared>(offer);
  problem.hand_over(prepared);
  problem.run(prepared);
  EXPECT_TRUE(problem.gaps_untouched()) << to_string(c);
  return problem.y();
}

std::vector<float> reference(const LinearCase& c) {
  set_threads(1);
  return run_with(c, prepare(reference_backend(), LinearProblem(c).call(), {}));
}

/// The case run by that code, whatever this machine has.
std::vector<float> run_code(const LinearCase& c, const MatmulCode& code) {
  const LinearProblem problem(c);
  const bool quantized = size_of(c.weight) == 1;
  const LinearCall linear = quantized ? quantized_linear_call(problem.call()) : linear_call(problem.call());
  return run_with(c, prepare_matmul(linear, read_machine_facts(), code));
}

void expect_within(const LinearCase& c, const std::vector<float>& expected, const std::vector<float>& found,
                   double of) {
  double largest = 1e-6;
  for (const float value : expected) largest = std::max(largest, std::abs(static_cast<double>(value)));
  ASSERT_EQ(expected.size(), found.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_NEAR(expected[i], found[i], largest * of) << "element " << i << " of " << to_string(c);
  }
}

struct Size {
  std::int64_t rows;
  std::int64_t in;
  std::int64_t out;
};
/// Rows that fill no tile, one, two and more; depths below, at and past a tile's and past a chunk; more rows than a
/// task.
constexpr Size sizes[] = {{1, 1, 1},    {15, 31, 32},  {16, 32, 33},  {17, 64, 40},   {32, 65, 64},
                          {33, 70, 31}, {48, 300, 96}, {70, 520, 70}, {300, 130, 33}, {5, 1100, 64}};

LinearCase case_of(const Size& size, DType x, DType weight, DType y) {
  LinearCase c;
  c.rows = size.rows;
  c.in = size.in;
  c.out = size.out;
  c.x = x;
  c.weight = weight;
  c.y = y;
  c.x_gap = 3;
  c.y_gap = 5;
  c.activation = Activation::silu;
  return c;
}

TEST(Tiles, Bf16ProductsAgreeWithTheLoops) {
  MatmulCode code = codes::bf16_tiles();
  code.multiply = micro::multiply_simulated<micro::SimulatedBf16Tiles>;
  for (const Size& size : sizes) {
    const LinearCase c = case_of(size, DType::bf16, DType::bf16, DType::f32);
    expect_within(c, reference(c), run_code(c, code), 2e-6);
  }
}

TEST(Tiles, S8ProductsAgreeWithTheLoops) {
  MatmulCode code = codes::s8_tiles();
  code.multiply = micro::multiply_simulated<micro::SimulatedS8Tiles>;
  for (const Size& size : sizes) {
    const LinearCase c = case_of(size, DType::s8, DType::s8, DType::f32);
    expect_within(c, reference(c), run_code(c, code), 2e-6);
  }
}

TEST(Tiles, WeightOnlyInt8IsWidenedIntoThem) {
  if (!read_machine_facts().isa.avx512) GTEST_SKIP() << "no AVX-512 here, which widens the weights";
  MatmulCode code = codes::bf16_tiles_from(DType::s8);
  code.multiply = micro::multiply_simulated<micro::SimulatedBf16Tiles>;
  for (const Size& size : sizes) {
    const LinearCase c = case_of(size, DType::bf16, DType::s8, DType::f32);
    expect_within(c, reference(c), run_code(c, code), 2e-6);
  }
}

TEST(Tiles, E4m3ProductsAreExactInThem) {
  if (!read_machine_facts().isa.avx512) GTEST_SKIP() << "no AVX-512 here, which widens the weights";
  MatmulCode code = codes::bf16_tiles_from(DType::e4m3);
  code.multiply = micro::multiply_simulated<micro::SimulatedBf16Tiles>;
  for (const Size& size : sizes) {
    const LinearCase c = case_of(size, DType::e4m3, DType::e4m3, DType::f32);
    expect_within(c, reference(c), run_code(c, code), 2e-6);
  }
}

TEST(Tiles, TheHardwareDoesWhatTheSimulationDoes) {
  const MachineFacts facts = read_machine_facts();
  if (!facts.isa.amx_bf16 || !facts.isa.amx_int8) GTEST_SKIP() << "no AMX here";
  for (const Size& size : sizes) {
    const LinearCase floats = case_of(size, DType::bf16, DType::bf16, DType::f32);
    expect_within(floats, reference(floats), run_code(floats, codes::bf16_tiles()), 2e-6);
    const LinearCase bytes = case_of(size, DType::s8, DType::s8, DType::f32);
    expect_within(bytes, reference(bytes), run_code(bytes, codes::s8_tiles()), 2e-6);
  }
}

/// Sums in f16 round after every product: the order of the products is part of the result, so it has to be equal.
TEST(F16Chunks, RoundAsTheReferenceSimulatesThem) {
  for (const Size& size : sizes) {
    for (const int chunk : {0, 16, 64}) {
      LinearCase c = case_of(size, DType::f16, DType::f16, DType::f32);
      c.activation = Activation::none;
      c.accumulator = DType::f16;
      c.chunk = chunk;
      MatmulCode code = codes::f16_chunks(size.in, chunk);
      code.multiply = multiply_simulated_f16;
      expect_within(c, reference(c), run_code(c, code), 1e-7);
    }
  }
}

TEST(Avx2, ProductsAgreeWithTheLoops) {
  const MachineFacts facts = read_machine_facts();
  if (!facts.isa.avx2) GTEST_SKIP() << "no AVX2 here";
  for (const DType stored : {DType::f32, DType::f16, DType::bf16, DType::s8}) {
    const MatmulCode code = stored == DType::f32 ? codes::f32_avx2() : codes::f32_from_avx2(stored);
    for (const Size& size : sizes) {
      const LinearCase c = case_of(size, DType::f32, stored, DType::f32);
      expect_within(c, reference(c), run_code(c, code), 2e-6);
    }
  }
  for (const Size& size : sizes) {
    const LinearCase c = case_of(size, DType::e4m3, DType::e4m3, DType::f32);
    expect_within(c, reference(c), run_code(c, codes::f32_from_avx2(DType::e4m3)), 2e-6);
  }
}

/// Both ways, whichever a call would take: the largest products there are, and sums that pass what 16 bits hold.
TEST(Avx2, IntegerProductsAreExact) {
  const MachineFacts facts = read_machine_facts();
  if (!facts.isa.avx2) GTEST_SKIP() << "no AVX2 here";
  for (const MatmulCode& code : {codes::s8_avx2(), codes::s8_avx2_in_16_bits()}) {
    for (const Size& size : sizes) {
      const LinearCase c = case_of(size, DType::s8, DType::s8, DType::f32);
      expect_within(c, reference(c), run_code(c, code), 2e-6);
    }
  }
}

std::string first_choice(const LinearCase& c, const MachineFacts& facts) {
  const Offer offer = prepare(cpu_backend(), LinearProblem(c).call(), facts);
  return std::holds_alternative<Prepared>(offer) ? std::get<Prepared>(offer).description
                                                 : std::get<Declined>(offer).why;
}

Verdict first_verdict(const LinearCase& c, const MachineFacts& facts) {
  return std::get<Prepared>(prepare(cpu_backend(), LinearProblem(c).call(), facts)).verdict;
}

constexpr InstructionSets zen4 = {.avx2 = true, .avx512 = true, .avx512_vnni = true, .avx512_bf16 = true};

bool starts_with(const std::string& text, std::string_view start) {
  return text.starts_with(start);
}

TEST(Choice, FollowsTheInstructionSets) {
  MachineFacts facts;
  facts.isa = zen4;
  const Size size = {128, 768, 768};
  const LinearCase f32 = case_of(size, DType::f32, DType::f32, DType::f32);
  const LinearCase bf16 = case_of(size, DType::bf16, DType::bf16, DType::bf16);
  const LinearCase f16 = case_of(size, DType::f16, DType::f16, DType::f16);
  const LinearCase s8 = case_of(size, DType::s8, DType::s8, DType::bf16);
  const LinearCase e4m3 = case_of(size, DType::e4m3, DType::e4m3, DType::bf16);
  EXPECT_PRED2(starts_with, first_choice(f32, facts), "avx512 f32,");
  EXPECT_PRED2(starts_with, first_choice(bf16, facts), "avx512 bf16 dot products,");
  EXPECT_PRED2(starts_with, first_choice(f16, facts), "avx512 f32 from f16,");
  EXPECT_PRED2(starts_with, first_choice(s8, facts), "avx512 vnni");
  EXPECT_PRED2(starts_with, first_choice(e4m3, facts), "avx512 bf16 dot products from e4m3,");
  EXPECT_EQ(Verdict::emulated, first_verdict(e4m3, facts)) << "no processor multiplies e4m3";
  EXPECT_EQ(Verdict::native, first_verdict(bf16, facts));
  EXPECT_EQ(Verdict::emulated, first_verdict(f16, facts)) << "no f16 product among these";
  facts.isa.avx512_bf16 = false;
  EXPECT_PRED2(starts_with, first_choice(bf16, facts), "avx512 f32 from bf16,");
  EXPECT_EQ(Verdict::emulated, first_verdict(bf16, facts));
  EXPECT_PRED2(starts_with, first_choice(e4m3, facts), "avx512 f32 from e4m3,");
  facts.isa.avx512_vnni = false;
  EXPECT_PRED2(starts_with, first_choice(s8, facts), "avx2 s8 as pairs of 16 bits,");
  EXPECT_PRED2(starts_with, first_choice(case_of({8, 768, 768}, DType::s8, DType::s8, DType::bf16), facts),
               "avx2 s8 in pairs,");
  EXPECT_EQ(Verdict::native, first_verdict(s8, facts));
  facts.isa.avx512 = false;
  EXPECT_PRED2(starts_with, first_choice(f32, facts), "avx2 f32,");
  EXPECT_PRED2(starts_with, first_choice(f16, facts), "avx2 f32 from f16,");
  EXPECT_PRED2(starts_with, first_choice(e4m3, facts), "avx2 f32 from e4m3,");
}

MatmulPeak measured(DType operand, std::vector<MatmulRate> rates) {
  MatmulPeak peak;
  peak.operand = operand;
  peak.rates = std::move(rates);
  peak.set_best();
  return peak;
}

MatmulRate rate(DType operand, DType computed, const char* implementation, double gflops) {
  const char* operation = operand == DType::s8 ? "quantized_linear" : "linear";
  return {operand, computed, {operation, implementation}, implementation, Arithmetic::instructions, gflops, 0};
}

TEST(Matmul, TheLengthOfChunksLeavesTheSumsAsTheyAre) {
  MachineFacts facts;
  facts.isa = read_machine_facts().isa;
  if (!facts.isa.avx512) GTEST_SKIP() << "no AVX-512 here";
  const LinearCase c = case_of({128, 1100, 96}, DType::f32, DType::f32, DType::f32);
  facts.caches = {{.level = 1, .bytes = 32 << 10}};
  const std::vector<float> with_long = run_with(c, linear_f32(LinearProblem(c).call(), facts));
  facts.caches = {{.level = 1, .bytes = 48 << 10}};
  EXPECT_EQ(run_with(c, linear_f32(LinearProblem(c).call(), facts)), with_long);
}

TEST(Ahead, SharesAreWholeLinesThatMeet) {
  const std::vector<std::byte> chunk(98304 + 64);
  for (const std::int64_t bytes : {0, 64, 640, 16384, 98304 + 64}) {
    for (const std::int64_t all : {1, 5, 32, 33, 128}) {
      std::int64_t next = 0;
      for (std::int64_t row = 0; row < all; row += 12) {
        const micro::Ahead share = micro::Ahead{chunk.data(), bytes}.share(row, 12, all);
        EXPECT_EQ(share.data - chunk.data(), next);
        EXPECT_EQ((share.data - chunk.data()) % 64, 0);
        next += share.bytes;
      }
      EXPECT_EQ(next, bytes) << all << " rows";
    }
  }
}

TEST(Choice, LeavesADotProductThatWasMeasuredSlow) {
  MachineFacts facts;
  facts.isa = zen4;
  facts.measured_share = 1;
  facts.peaks = {measured(DType::f32, {rate(DType::f32, DType::f32, "f32", 442)}),
                 measured(DType::bf16, {rate(DType::bf16, DType::f32, "f32 from 16-bit storage", 400),
                                        rate(DType::bf16, DType::bf16, "avx512 bf16 dot products", 220)})};
  const LinearCase c = case_of({128, 768, 768}, DType::bf16, DType::bf16, DType::bf16);
  EXPECT_PRED2(starts_with, first_choice(c, facts), "avx512 f32 from bf16,");
  EXPECT_EQ(Verdict::widened, first_verdict(c, facts));
  facts.measured_share = 0.3;
  EXPECT_PRED2(starts_with, first_choice(c, facts), "avx512 bf16 dot products,");
}

/// What is measured decides between oneDNN and our own, for every dtype. With this machine's instruction sets: oneDNN
/// keeps those of its first use in a process, and declines where the facts allow less.
TEST(Choice, TakesTheFasterOfOneDnnAndOurs) {
  MachineFacts facts;
  facts.isa = read_machine_facts().isa;
  if (!facts.isa.avx512) GTEST_SKIP() << "no AVX-512 here";
  facts.measured_share = 1;
  const LinearCase c = case_of({128, 768, 768}, DType::f32, DType::f32, DType::f32);
  facts.peaks = {
      measured(DType::f32, {rate(DType::f32, DType::f32, "onednn", 500), rate(DType::f32, DType::f32, "f32", 442)})};
  EXPECT_PRED2(starts_with, first_choice(c, facts), "oneDNN");
  facts.peaks = {
      measured(DType::f32, {rate(DType::f32, DType::f32, "onednn", 450), rate(DType::f32, DType::f32, "f32", 442)})};
  EXPECT_PRED2(starts_with, first_choice(c, facts), "avx512 f32,");
}

TEST(Choice, IsWhatProbeJudgesWhereRatesAreAlike) {
  MachineFacts facts;
  facts.isa = zen4;
  facts.isa.avx512_fp16 = true;
  facts.measured_share = 1;
  MatmulRate native = rate(DType::f16, DType::f16, "onednn", 345);
  MatmulRate widened = rate(DType::f16, DType::f32, "f32 from 16-bit storage", 335);
  const LinearCase c = case_of({128, 768, 768}, DType::f16, DType::f16, DType::f16);
  for (const double widened_streaming : {0.0, 330.0, 400.0}) {
    native.streaming_gflops = widened_streaming > 0 ? 331 : 0;
    widened.streaming_gflops = widened_streaming;
    facts.peaks = {measured(DType::f16, in_order_of_choice(cpu_backend(), facts, {native, widened}))};
    EXPECT_EQ(facts.peaks[0].rates.front().computed, DType::f32) << "the list's order where they are alike";
    EXPECT_EQ(verdict_of_dtype(DType::f16, facts).verdict, Verdict::widened);
    EXPECT_EQ(first_verdict(c, facts), Verdict::widened) << widened_streaming;
  }
  native.streaming_gflops = 500;
  EXPECT_EQ(in_order_of_choice(cpu_backend(), facts, {widened, native}).front().computed, DType::f16);
  facts.measured_share = 0.4;
  EXPECT_EQ(in_order_of_choice(cpu_backend(), facts, {native, widened}).front().computed, DType::f32) << "busy";
  const MatmulRate reference = rate(DType::f16, DType::f32, "reference loops", 1);
  EXPECT_EQ(in_order_of_choice(cpu_backend(), facts, {reference, native}).front().key.implementation, "onednn")
      << "busy: the list's order is that of its own operation";
}

TEST(Choice, FewRowsHaveLoopsOfTheirOwnOrderedByRatesWithOneRow) {
  MachineFacts facts;
  facts.isa = zen4;
  facts.measured_share = 1;
  MatmulPeak bf16 = measured(DType::bf16, {rate(DType::bf16, DType::bf16, "avx512 bf16 dot products", 400)});
  MatmulRate dot_products = rate(DType::bf16, DType::bf16, "avx512 bf16 dot products, few rows", 50);
  const MatmulRate widened = rate(DType::bf16, DType::f32, "f32, few rows", 48);
  bf16.row_rates = {dot_products, widened, rate(DType::bf16, DType::bf16, "avx512 bf16 dot products", 45)};
  facts.peaks = {bf16};
  const LinearCase one = case_of({1, 768, 768}, DType::bf16, DType::bf16, DType::bf16);
  EXPECT_EQ(first_choice(one, facts), "avx512 bf16 dot products, few rows, panels of 32, groups of 2");
  EXPECT_EQ(first_verdict(one, facts), Verdict::native);
  facts.peaks[0].row_rates[0].gflops = 30;
  EXPECT_PRED2(starts_with, first_choice(one, facts), "avx512 f32 from bf16, few rows");
  for (const std::int64_t rows : {few_rows + 1, std::int64_t{128}}) {
    const LinearCase many = case_of({rows, 768, 768}, DType::bf16, DType::bf16, DType::bf16);
    EXPECT_PRED2(starts_with, first_choice(many, facts), "avx512 bf16 dot products, panels");
  }
}

TEST(Choice, WeightsAloneInEightBitsAreWidenedInRegistersForFewRows) {
  MachineFacts facts;
  facts.isa = zen4;
  for (const DType x : {DType::f32, DType::f16}) {
    const LinearCase c = case_of({few_rows, 768, 768}, x, DType::s8, x);
    EXPECT_PRED2(starts_with, first_choice(c, facts), "avx512 f32 from s8, few rows");
  }
  EXPECT_PRED2(starts_with, first_choice(case_of({1, 768, 768}, DType::bf16, DType::s8, DType::bf16), facts),
               "avx512 bf16 dot products from s8, few rows");
  facts.isa = {.avx2 = true};
  EXPECT_PRED2(starts_with, first_choice(case_of({1, 768, 768}, DType::f32, DType::s8, DType::f32), facts),
               "avx2 f32 from s8, few rows");
  EXPECT_PRED2(starts_with, first_choice(case_of({1, 768, 768}, DType::s8, DType::s8, DType::f32), facts),
               "avx2 s8 as pairs of 16 bits, few rows");
}

TEST(Choice, TakesOurTilesWhereTheyWereMeasuredTheFastest) {
  MachineFacts facts;
  facts.isa = zen4;
  facts.isa.amx_tile = facts.isa.amx_bf16 = facts.isa.amx_int8 = facts.isa.avx512_fp16 = true;
  const LinearCase c = case_of({128, 768, 768}, DType::bf16, DType::bf16, DType::bf16);
  EXPECT_PRED2(starts_with, first_choice(c, facts), "amx bf16 tiles,");
  facts.measured_share = 1;
  MatmulRate ours = rate(DType::bf16, DType::bf16, "amx bf16 tiles", 2500);
  MatmulRate onednn = rate(DType::bf16, DType::bf16, "onednn tiles", 2800);
  facts.peaks = {measured(DType::bf16, {onednn, ours})};
  // oneDNN makes its code for what the processor has, whatever the facts say.
  if (read_machine_facts().isa.avx512_bf16) {
    EXPECT_PRED2(starts_with, first_choice(c, facts), "oneDNN");
  }
  ours.streaming_gflops = 2400;
  onednn.streaming_gflops = 2000;
  facts.peaks = {measured(DType::bf16, {onednn, ours})};
  EXPECT_PRED2(starts_with, first_choice(c, facts), "amx bf16 tiles,") << "weights come from memory";
}

}  // namespace
}  // namespace assay::cpu
