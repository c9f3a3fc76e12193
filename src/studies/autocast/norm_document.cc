#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "studies/autocast/norm_sensitivity.h"

namespace assay {
namespace {

template <typename Row, typename Predicate>
const Row& find(const std::vector<Row>& rows, Predicate&& wanted) {
  const auto found = std::find_if(rows.begin(), rows.end(), wanted);
  ASSAY_ASSERT(found != rows.end());
  return *found;
}

std::string note_on_overflow() {
  return fmt::format(
      "A square overflows in f16 from {:g} on, in bf16 from {:.3g} on: bf16 cures this, for it has f32's range.",
      first_overflowing_square(DType::f16), first_overflowing_square(DType::bf16));
}

std::string note_on_norms(const NormSensitivity& s) {
  const auto broken = [&](DType dtype) -> const NormRow* {
    const auto found = std::find_if(s.norms.begin(), s.norms.end(), [&](const NormRow& row) {
      return row.dtype == dtype && row.squares_overflow_in_rms_norm;
    });
    return found == s.norms.end() ? nullptr : &*found;
  };
  const NormRow* f16 = broken(DType::f16);
  ASSAY_ASSERT(f16 != nullptr);
  return fmt::format(
      "RMSNorm squares the values themselves, LayerNorm their distances from the mean: at mean {:g} with deviation 1 "
      "RMSNorm's squares overflow in f16 and its error is {:.2g}, LayerNorm's is {:.2g}. In bf16 {}.",
      f16->mean, f16->rms_norm_error, f16->layer_norm_error,
      broken(DType::bf16) == nullptr ? "no square here overflows, which is range" : "squares overflow too");
}

std::string note_on_rsqrt(const NormSensitivity& s) {
  const auto at = [&](DType dtype, double variance) {
    return find(s.rsqrts, [&](const RsqrtRow& row) { return row.dtype == dtype && row.variance == variance; });
  };
  const RsqrtRow small = at(DType::f16, 1e-8);
  const RsqrtRow tiny = at(DType::f16, 1e-7);
  return fmt::format(
      "1 / sqrt amplifies an error of the variance by (variance + epsilon)^-1.5 / 2: "
      "{:.2g} at variance 1, {:.3g} at 1e-6. "
      "Without an epsilon f16 is {:.2g} off (relative) at 1e-7, where it holds {:.3g}, "
      "and gives infinity at 1e-8, where it holds {:g}; "
      "bf16 is {:.2g} off there. The epsilon of 1e-5 keeps the amplification below {:.3g}.",
      at(DType::f16, 1).amplification, at(DType::f16, 1e-6).amplification, tiny.without_epsilon, tiny.stored,
      small.stored, at(DType::bf16, 1e-8).without_epsilon, 0.5 * std::pow(1e-5, -1.5));
}

std::string note_on_epsilon(const NormSensitivity& s) {
  const auto at = [&](DType dtype, double epsilon) {
    return find(s.epsilons, [&](const EpsilonRow& row) { return row.dtype == dtype && row.epsilon == epsilon; });
  };
  const EpsilonRow usual = at(DType::f16, 1e-5);
  return fmt::format(
      "An epsilon of 1e-5 is {} in f16 (held as {:.7g}, {:.2g} off; 0 where subnormals are flushed) and {} in bf16; "
      "1e-8 is {:g} in f16. bf16 cures this too.",
      usual.subnormal ? "subnormal" : "normal", usual.stored, usual.relative_error,
      at(DType::bf16, 1e-5).subnormal ? "subnormal" : "normal", at(DType::f16, 1e-8).stored);
}

std::string note_on_accumulation(const NormSensitivity& s) {
  const auto at = [&](DType dtype, std::int64_t width) {
    return find(s.widths, [&](const WidthRow& row) { return row.accumulator == dtype && row.width == width; });
  };
  const double f16 = at(DType::f16, 16384).variance_error;
  const double bf16 = at(DType::bf16, 16384).variance_error;
  return fmt::format(
      "Added one by one, the variance of 16,384 numbers is {:.2g} off in f16, {:.2g} in bf16, {:.2g} in f32 "
      "(of 64 numbers: {:.2g}, {:.2g}, {:.2g}). bf16 {}: it has {} bits fewer. "
      "So bf16 cures what is a matter of range, not accumulation, "
      "and norms keep f32 sums in either.",
      f16, bf16, at(DType::f32, 16384).variance_error, at(DType::f16, 64).variance_error,
      at(DType::bf16, 64).variance_error, at(DType::f32, 64).variance_error,
      bf16 > f16 ? "does not cure this but worsens it" : "is no worse here",
      format_row(DType::f16).mantissa_bits - format_row(DType::bf16).mantissa_bits);
}

Table::Column plain(const char* key, const char* title, const char* meaning = "") {
  return {.key = key, .title = title, .meaning = meaning, .notation = Notation::general, .digits = 6};
}

/// Errors are known to two digits.
Table::Column error_of(const char* key, const char* title, const char* meaning = "") {
  return {.key = key, .title = title, .meaning = meaning, .notation = Notation::general, .digits = 2};
}

Table::Column label_of(const char* key, const char* title = "") {
  return {.key = key, .title = title, .notation = Notation::exact, .role = Table::Role::label};
}

Table table_of(const char* key, const char* caption) {
  return {.key = std::string("norm_sensitivity.") + key, .caption = caption};
}

Table formats_table(const std::vector<FormatRow>& rows) {
  using Row = FormatRow;
  using Cell = Table::Cell;
  const std::vector<ColumnOf<Row>> columns = {
      {label_of("dtype"), [](const Row& r) -> Cell { return name(r.dtype); }},
      {plain("bits", ""), [](const Row& r) -> Cell { return std::int64_t{r.bits}; }},
      {plain("exponent_bits", "exponent"), [](const Row& r) -> Cell { return std::int64_t{r.exponent_bits}; }},
      {plain("mantissa_bits", "mantissa", "as stored; the leading bit is implied"),
       [](const Row& r) -> Cell { return std::int64_t{r.mantissa_bits}; }},
      {plain("epsilon", "", "distance from 1 to the next value"), [](const Row& r) -> Cell { return r.epsilon; }},
      {plain("largest", ""), [](const Row& r) -> Cell { return r.largest; }},
      {plain("smallest_normal", "min normal"), [](const Row& r) -> Cell { return r.smallest_normal; }},
      {plain("smallest_subnormal", "min subnormal"), [](const Row& r) -> Cell { return r.smallest_subnormal; }},
      {plain("first_overflowing_square", "square overflows from"),
       [](const Row& r) -> Cell { return first_overflowing_square(r.dtype); }}};
  return filled(table_of("formats", "Why norms keep f32: what the formats hold"), columns, rows);
}

Table norms_table(const std::vector<NormRow>& rows) {
  using Row = NormRow;
  using Cell = Table::Cell;
  const std::vector<ColumnOf<Row>> columns = {
      {label_of("dtype"), [](const Row& r) -> Cell { return name(r.dtype); }},
      {label_of("mean"), [](const Row& r) -> Cell { return r.mean; }},
      {error_of("layer_norm_error", "LayerNorm"), [](const Row& r) -> Cell { return r.layer_norm_error; }},
      {error_of("rms_norm_error", "RMSNorm"), [](const Row& r) -> Cell { return r.rms_norm_error; }},
      {plain("squares_overflow_in_layer_norm", "LayerNorm's squares overflow"),
       [](const Row& r) -> Cell { return r.squares_overflow_in_layer_norm; }},
      {plain("squares_overflow_in_rms_norm", "RMSNorm's squares overflow"),
       [](const Row& r) -> Cell { return r.squares_overflow_in_rms_norm; }}};
  Table table = table_of("norms",
                         "LayerNorm beside RMSNorm: largest error of a result, rows of 768 numbers of deviation 1 "
                         "(squares rounded to the dtype, sums in f32)");
  table.legend = "Where a square overflows, the norm's results are 0.";
  return filled(std::move(table), columns, rows);
}

Table rsqrts_table(const std::vector<RsqrtRow>& rows) {
  using Row = RsqrtRow;
  using Cell = Table::Cell;
  const std::vector<ColumnOf<Row>> columns = {
      {label_of("dtype"), [](const Row& r) -> Cell { return name(r.dtype); }},
      {label_of("variance"), [](const Row& r) -> Cell { return r.variance; }},
      {plain("stored", "", "the variance as the dtype holds it"), [](const Row& r) -> Cell { return r.stored; }},
      {error_of("stored_error", "its error"), [](const Row& r) -> Cell { return r.stored_error; }},
      {{.key = "amplification",
        .title = "amplified by",
        .meaning = "(variance + epsilon)^-1.5 / 2",
        .notation = Notation::general},
       [](const Row& r) -> Cell { return r.amplification; }},
      {error_of("relative_error", "relative error"), [](const Row& r) -> Cell { return r.relative_error; }},
      {error_of("without_epsilon", "without epsilon", "relative error of 1 / sqrt(variance) alone"),
       [](const Row& r) -> Cell { return r.without_epsilon; }}};
  return filled(table_of("rsqrt", "1 / sqrt(variance + 1e-5), every step rounded to the dtype"), columns, rows);
}

Table epsilons_table(const std::vector<EpsilonRow>& rows) {
  using Row = EpsilonRow;
  using Cell = Table::Cell;
  const std::vector<ColumnOf<Row>> columns = {
      {label_of("dtype"), [](const Row& r) -> Cell { return name(r.dtype); }},
      {label_of("epsilon"), [](const Row& r) -> Cell { return r.epsilon; }},
      {{.key = "stored", .notation = Notation::general, .digits = 7}, [](const Row& r) -> Cell { return r.stored; }},
      {error_of("relative_error", "error", "relative"), [](const Row& r) -> Cell { return r.relative_error; }},
      {plain("subnormal", "", "0 where subnormals are flushed"), [](const Row& r) -> Cell { return r.subnormal; }}};
  return filled(table_of("epsilons", "An epsilon as a dtype holds it"), columns, rows);
}

Table widths_table(const std::vector<WidthRow>& rows) {
  using Row = WidthRow;
  using Cell = Table::Cell;
  const std::vector<ColumnOf<Row>> columns = {
      {label_of("accumulator", "summed in"), [](const Row& r) -> Cell { return name(r.accumulator); }},
      {label_of("width"), [](const Row& r) -> Cell { return r.width; }},
      {error_of("mean_error", "mean"), [](const Row& r) -> Cell { return r.mean_error; }},
      {error_of("variance_error", "variance"), [](const Row& r) -> Cell { return r.variance_error; }}};
  return filled(table_of("widths",
                         "Relative error of mean and variance, added one by one in the dtype (rms of 16 draws of "
                         "normal(1, 1))"),
                columns, rows);
}

}  // namespace

std::vector<std::string> sensitivity_notes(const NormSensitivity& s) {
  return {note_on_overflow(), note_on_norms(s), note_on_rsqrt(s), note_on_epsilon(s), note_on_accumulation(s)};
}

std::vector<Table> sensitivity_tables(const NormSensitivity& s) {
  return {formats_table(s.formats), norms_table(s.norms), rsqrts_table(s.rsqrts), epsilons_table(s.epsilons),
          widths_table(s.widths)};
}

}  // namespace assay
