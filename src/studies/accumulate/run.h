#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "studies/accumulate/request.h"
#include "tensor/dtype.h"

namespace assay {

/// Ways of adding `count` equal terms.
enum class Summation : std::uint8_t {
  sequential,     ///< One by one; accumulator and addend have one dtype.
  implicit_cast,  ///< One by one; the addition itself widens each 16-bit addend to the f32 accumulator.
  explicit_cast,  ///< One by one; the addends were converted to f32 beforehand.
  chunked,        ///< Chunks one by one in the dtype, their sums in f32.
  kahan,          ///< One by one with Kahan's compensation (Kahan 1965), every operation rounded to the dtype.
  pairwise,       ///< A balanced tree.
  stochastic,     ///< One by one; the exact sum is rounded up with the probability of its distance from below.
};
const char* name(Summation summation);

/// Why a sum that is added to one by one stops growing.
enum class Stop : std::uint8_t {
  half_ulp,     ///< Half an ulp of the sum exceeds the addend.
  tie_to_even,  ///< Half an ulp of the sum equals the addend, and the sum is even.
  overflow,     ///< The sum passed the largest finite value.
  zero_addend,  ///< The addend rounds to zero.
};
const char* name(Stop stop);

/// The first step whose addition leaves the sum as it was. It may lie beyond the steps that were asked for: every
/// float sum of equal terms stops.
struct Growth {
  std::int64_t step = 0;  ///< Counted from 1.
  Stop stop = Stop::half_ulp;
  double sum = 0;
  double half_ulp = 0;  ///< Half the distance from |sum| to the next greater value of the accumulator's dtype.
};

struct AccumulateRow {
  Summation summation = Summation::sequential;
  DType accumulator = DType::f32;
  DType addend = DType::f32;
  double addend_value = 0;  ///< The addend as its dtype holds it.
  double result = 0;
  double expected = 0;                          ///< count x addend, in f64.
  double error = 0;                             ///< result - expected = representation_error + accumulation_error.
  double representation_error = 0;              ///< count x (addend_value - addend): exists before anything is added.
  double accumulation_error = 0;                ///< result - count x addend_value: what the additions rounded away.
  std::optional<Growth> growth = std::nullopt;  ///< For sequential sums and the two casts.
};

/// All rows, in the order in which they are shown. Throws a user error where the request is out of range.
std::vector<AccumulateRow> accumulate_rows(const AccumulateRequest& request);

/// The row of that way and those dtypes; asserts that there is one.
const AccumulateRow& find_row(const std::vector<AccumulateRow>& rows, Summation summation, DType accumulator,
                              DType addend);

}  // namespace assay
