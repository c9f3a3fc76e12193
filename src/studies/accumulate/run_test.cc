#include "studies/accumulate/run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/random.h"
#include "tensor/precision.h"

namespace assay {
namespace {

constexpr AccumulateRequest thousand = {.addend = 0.01, .count = 1000};
constexpr AccumulateRequest ten_thousand = {.addend = 0.001, .count = 10'000};

double result(const std::vector<AccumulateRow>& rows, Summation way, DType accumulator, DType addend) {
  return find_row(rows, way, accumulator, addend).result;
}

/// Result where accumulator and addend have one dtype (the chunks of `dtype` are flushed to f32).
double result(const std::vector<AccumulateRow>& rows, Summation way, DType dtype) {
  return result(rows, way, way == Summation::chunked ? DType::f32 : dtype, dtype);
}

TEST(Accumulate, AThousandHundredthsToTheLastDigit) {
  const auto rows = accumulate_rows(thousand);
  EXPECT_EQ(result(rows, Summation::sequential, DType::f32), 10.000133514404297);
  EXPECT_EQ(result(rows, Summation::sequential, DType::f16), 9.953125);
  EXPECT_EQ(result(rows, Summation::sequential, DType::bf16), 4.0);
  for (const Summation cast : {Summation::implicit_cast, Summation::explicit_cast}) {
    EXPECT_EQ(result(rows, cast, DType::f32, DType::f16), 10.00213623046875);
    EXPECT_EQ(result(rows, cast, DType::f32, DType::bf16), 10.009765625);
  }
}

TEST(Accumulate, TenThousandThousandthsToTheLastDigit) {
  const auto rows = accumulate_rows(ten_thousand);
  EXPECT_EQ(result(rows, Summation::sequential, DType::f32), 10.000411033630371);
  EXPECT_EQ(result(rows, Summation::sequential, DType::f16), 4.0);
  EXPECT_EQ(result(rows, Summation::sequential, DType::bf16), 0.5);
  EXPECT_NEAR(find_row(rows, Summation::sequential, DType::f32, DType::f32).error, 4.1e-4, 1e-5)
      << "f32's error, published as below 1e-6";
}

// The figures of the three tests below come from NumPy and ml_dtypes, adding one scalar at a time.

TEST(Accumulate, ChunkedSumsEqualThoseOfNumPy) {
  const auto rows = accumulate_rows(thousand);
  EXPECT_EQ(result(rows, Summation::chunked, DType::f32), 9.999995231628418);
  EXPECT_EQ(result(rows, Summation::chunked, DType::f16), 9.950927734375);
  EXPECT_EQ(result(rows, Summation::chunked, DType::bf16), 10.177734375);
  const auto more = accumulate_rows(ten_thousand);
  EXPECT_EQ(result(more, Summation::chunked, DType::f32), 10.000005722045898);
  EXPECT_EQ(result(more, Summation::chunked, DType::f16), 10.042129516601562);
  EXPECT_EQ(result(more, Summation::chunked, DType::bf16), 9.842041015625);
}

TEST(Accumulate, ChunksAreThoseOfThePrecisionThatFlushes) {
  EXPECT_EQ(AccumulateRequest{}.chunk, find_precision("fp16-acc16").chunk);
}

TEST(Accumulate, KahanSumsEqualThoseOfNumPy) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    EXPECT_EQ(result(accumulate_rows(thousand), Summation::kahan, dtype), 10.0) << name(dtype);
  }
  const auto more = accumulate_rows(ten_thousand);
  EXPECT_EQ(result(more, Summation::kahan, DType::f16), 10.0);
  EXPECT_EQ(result(more, Summation::kahan, DType::bf16), 9.9375);
}

TEST(Accumulate, PairwiseSumsEqualThoseOfNumPy) {
  const auto rows = accumulate_rows(ten_thousand);
  EXPECT_EQ(result(rows, Summation::pairwise, DType::f32), 9.999999046325684);
  EXPECT_EQ(result(rows, Summation::pairwise, DType::f16), 10.015625);
  EXPECT_EQ(result(rows, Summation::pairwise, DType::bf16), 10.0);
}

TEST(Accumulate, ErrorsSplitExactlyIntoRepresentationAndAccumulation) {
  for (const AccumulateRequest& request : {thousand, ten_thousand, AccumulateRequest{.addend = -0.3, .count = 77}}) {
    for (const AccumulateRow& row : accumulate_rows(request)) {
      EXPECT_EQ(row.error, row.result - row.expected);
      EXPECT_NEAR(row.representation_error + row.accumulation_error, row.error, 1e-14) << name(row.summation);
    }
  }
  const auto rows = accumulate_rows(thousand);
  const AccumulateRow& cast = find_row(rows, Summation::implicit_cast, DType::f32, DType::f16);
  EXPECT_EQ(cast.representation_error, 0.00213623046875) << "all of it is the addend's";
  EXPECT_EQ(cast.accumulation_error, 0.0);
}

TEST(Accumulate, EachDtypeStopsGrowingWhereHalfAnUlpExceedsTheAddend) {
  const auto rows = accumulate_rows(thousand);
  const Growth bf16_growth = *find_row(rows, Summation::sequential, DType::bf16, DType::bf16).growth;
  EXPECT_EQ(bf16_growth.step, 351);
  EXPECT_EQ(bf16_growth.sum, 4.0);
  EXPECT_EQ(bf16_growth.half_ulp, 0x1p-6);
  const Growth f16_growth = *find_row(rows, Summation::sequential, DType::f16, DType::f16).growth;
  EXPECT_EQ(f16_growth.step, 2799);
  EXPECT_EQ(f16_growth.sum, 32.0);
  EXPECT_EQ(f16_growth.half_ulp, 0x1p-6);
  const Growth f32_growth = *find_row(rows, Summation::sequential, DType::f32, DType::f32).growth;
  EXPECT_EQ(f32_growth.sum, 0x1p18);
  EXPECT_EQ(f32_growth.half_ulp, 0x1p-6);
  for (const Growth& growth : {bf16_growth, f16_growth, f32_growth}) EXPECT_EQ(growth.stop, Stop::half_ulp);
}

TEST(Accumulate, OneMoreStepAddsNothingAndOneFewerDid) {
  const auto sum_after = [](std::int64_t count) {
    return result(accumulate_rows({.addend = 0.001, .count = count}), Summation::sequential, DType::f16);
  };
  const std::int64_t step =
      find_row(accumulate_rows(ten_thousand), Summation::sequential, DType::f16, DType::f16).growth->step;
  EXPECT_EQ(step, 3071);
  EXPECT_EQ(sum_after(step - 1), 4.0);
  EXPECT_EQ(sum_after(step), 4.0);
  EXPECT_LT(sum_after(step - 2), 4.0);
}

TEST(Accumulate, TheStepIsThatOfAddingOneByOne) {
  for (const float addend : {0.01F, 0.001F, 1.0F, 3.0F, -0.75F, 0x1.000002p-3F, 0x1.8p-3F, 1e-44F}) {
    float sum = 0;
    std::int64_t step = 1;
    for (; sum + addend != sum; ++step) sum += addend;
    const auto rows = accumulate_rows({.addend = static_cast<double>(addend), .count = 1});
    const Growth growth = *find_row(rows, Summation::sequential, DType::f32, DType::f32).growth;
    EXPECT_EQ(growth.step, step) << addend;
    EXPECT_EQ(growth.sum, static_cast<double>(sum)) << addend;
  }
  Random random(1);
  for (int i = 0; i < 300; ++i) {
    const float addend = to_f32(f16{static_cast<std::uint16_t>(1 + random.below(0x7000))});
    float sum = 0;
    std::int64_t step = 1;
    for (; round_to(DType::f16, sum + addend) != sum; ++step) sum = round_to(DType::f16, sum + addend);
    const auto rows = accumulate_rows({.addend = static_cast<double>(addend), .count = 1});
    const Growth growth = *find_row(rows, Summation::sequential, DType::f16, DType::f16).growth;
    ASSERT_EQ(growth.step, step) << addend;
    ASSERT_EQ(growth.sum, static_cast<double>(sum)) << addend;
  }
}

TEST(Accumulate, OtherCausesOfStoppingAreToldApart) {
  const auto stop = [](double addend, DType dtype) {
    return find_row(accumulate_rows({.addend = addend, .count = 1}), Summation::sequential, dtype, dtype).growth->stop;
  };
  EXPECT_EQ(stop(1.0, DType::f16), Stop::tie_to_even) << "2048 + 1 is a tie, and 2048 is even";
  EXPECT_EQ(stop(-1.0, DType::bf16), Stop::tie_to_even);
  EXPECT_EQ(stop(1e-9, DType::f16), Stop::zero_addend);
  EXPECT_EQ(stop(30'000.0, DType::f16), Stop::overflow);
  EXPECT_EQ(stop(1e38, DType::f32), Stop::overflow);
}

TEST(Accumulate, StochasticRoundingIsUnbiased) {
  constexpr int seeds = 64;
  double mean = 0;
  double squares = 0;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    const auto rows = accumulate_rows({.addend = 0.01, .count = 1000, .seed = seed});
    const double sum = result(rows, Summation::stochastic, DType::bf16);
    mean += sum / seeds;
    squares += sum * sum / seeds;
  }
  const double deviation = std::sqrt(squares - mean * mean);
  EXPECT_GT(deviation, 0) << "another seed, another sum";
  EXPECT_LT(deviation, 1);
  EXPECT_NEAR(mean, 1000 * 0.010009765625, 5 * deviation / std::sqrt(seeds)) << "rounding to nearest stops at 4";
}

TEST(Accumulate, OneSeedGivesOneResult) {
  const auto first = accumulate_rows(thousand);
  const auto again = accumulate_rows(thousand);
  for (std::size_t i = 0; i < first.size(); ++i) EXPECT_EQ(first[i].result, again[i].result);
}

TEST(Accumulate, ASumIsMirroredByTheSign) {
  const auto rows = accumulate_rows(thousand);
  const auto mirrored = accumulate_rows({.addend = -0.01, .count = 1000});
  ASSERT_EQ(rows.size(), mirrored.size());
  for (std::size_t i = 0; i < rows.size(); ++i)
    EXPECT_EQ(mirrored[i].result, -rows[i].result) << name(rows[i].summation);
}

TEST(Accumulate, ARequestOutOfRangeIsRefusedInWords) {
  for (const double addend : {0.0, 1e39, std::nan(""), HUGE_VAL}) {
    EXPECT_THROW(accumulate_rows({.addend = addend, .count = 10}), Error) << addend;
  }
  EXPECT_THROW(accumulate_rows({.addend = 1, .count = 0}), Error);
  EXPECT_THROW(accumulate_rows({.addend = 1, .count = 10'000'001}), Error);
  EXPECT_THROW(accumulate_rows({.addend = 1, .count = 10, .seed = 0, .chunk = 0}), Error);
}

}  // namespace
}  // namespace assay
