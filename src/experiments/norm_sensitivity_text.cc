#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/json.h"
#include "base/units.h"
#include "experiments/norm_sensitivity.h"

namespace assay {
namespace {

template <typename Row, typename Predicate>
const Row& find(const std::vector<Row>& rows, Predicate&& wanted) {
  const auto found = std::find_if(rows.begin(), rows.end(), wanted);
  ASSAY_ASSERT(found != rows.end());
  return *found;
}

std::string formats_text(const NormSensitivity& s) {
  std::string text = fmt::format("{:<6}{:>6}{:>10}{:>10}{:>14}{:>14}{:>14}{:>14}{:>18}\n", "format", "bits", "exponent",
                                 "mantissa", "epsilon", "largest", "min normal", "min subnormal", "square overflows");
  for (const FormatRow& row : s.formats) {
    text += fmt::format("{:<6}{:>6}{:>10}{:>10}{:>14.6g}{:>14.6g}{:>14.6g}{:>14.6g}{:>18}\n", name(row.dtype), row.bits,
                        row.exponent_bits, row.mantissa_bits, row.epsilon, row.largest, row.smallest_normal,
                        row.smallest_subnormal, fmt::format("from {:.6g}", first_overflowing_square(row.dtype)));
  }
  return text;
}

std::string norms_text(const NormSensitivity& s) {
  std::string text =
      "\nLayerNorm beside RMSNorm: largest error of a result, rows of 768 numbers of deviation 1 (squares rounded to "
      "the "
      "dtype,\nsums in f32)\n";
  text += fmt::format("{:<6}{:>10}{:>14}{:>14}\n", "dtype", "mean", "LayerNorm", "RMSNorm");
  const auto error = [](double value, bool overflow) {
    return overflow ? fmt::format("{:.2g} (inf)", value) : fmt::format("{:.2g}", value);
  };
  for (const NormRow& row : s.norms) {
    text += fmt::format("{:<6}{:>10g}{:>14}{:>14}\n", name(row.dtype), row.mean,
                        error(row.layer_norm_error, row.squares_overflow_in_layer_norm),
                        error(row.rms_norm_error, row.squares_overflow_in_rms_norm));
  }
  return text + "(inf): a square overflowed; the norm's results are then 0.\n";
}

std::string rsqrts_text(const NormSensitivity& s) {
  std::string text = "\n1 / sqrt(variance + 1e-5), every step rounded to the dtype\n";
  text += fmt::format("{:<6}{:>10}{:>14}{:>14}{:>16}{:>16}{:>18}\n", "dtype", "variance", "stored", "its error",
                      "amplified by", "relative error", "without epsilon");
  for (const RsqrtRow& row : s.rsqrts) {
    text += fmt::format("{:<6}{:>10g}{:>14.6g}{:>14.2g}{:>16.3g}{:>16.2g}{:>18.2g}\n", name(row.dtype), row.variance,
                        row.stored, row.stored_error, row.amplification, row.relative_error, row.without_epsilon);
  }
  return text;
}

std::string epsilons_text(const NormSensitivity& s) {
  std::string text = fmt::format("\n{:<6}{:>10}{:>16}{:>14}  {}\n", "dtype", "epsilon", "stored", "error", "is");
  for (const EpsilonRow& row : s.epsilons) {
    text += fmt::format("{:<6}{:>10g}{:>16.7g}{:>14.2g}  {}\n", name(row.dtype), row.epsilon, row.stored,
                        row.relative_error,
                        row.stored == 0 ? "zero"
                        : row.subnormal ? "subnormal"
                                        : "normal");
  }
  return text;
}

std::string widths_text(const NormSensitivity& s) {
  std::string text =
      "\nRelative error of mean and variance, added one by one in the dtype (rms of 16 draws of normal(1, 1))\n";
  text += fmt::format("{:<8}{:>14}{:>14}{:>14}{:>16}{:>16}{:>16}\n", "width", "mean f32", "mean f16", "mean bf16",
                      "variance f32", "variance f16", "variance bf16");
  for (std::size_t i = 0; i + 2 < s.widths.size(); i += 3) {
    text += fmt::format("{:<8}", s.widths[i].width);
    for (std::size_t j = i; j < i + 3; ++j) text += fmt::format("{:>14.2g}", s.widths[j].mean_error);
    for (std::size_t j = i; j < i + 3; ++j) text += fmt::format("{:>16.2g}", s.widths[j].variance_error);
    text += '\n';
  }
  return text;
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
      "1 / sqrt amplifies an error of the variance by (variance + epsilon)^-1.5 / 2: {:.2g} at variance 1, {:.3g} at "
      "1e-6. "
      "Without an epsilon f16 is {:.2g} off (relative) at 1e-7, where it holds {:.3g}, and gives infinity at 1e-8, "
      "where it "
      "holds {:g}; bf16 is {:.2g} off there. The epsilon of 1e-5 keeps the amplification below {:.3g}.",
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
      "1e-8 is "
      "{:g} in f16. bf16 cures this too.",
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
      "Added one by one, the variance of 16,384 numbers is {:.2g} off in f16, {:.2g} in bf16, {:.2g} in f32 (of 64 "
      "numbers: "
      "{:.2g}, {:.2g}, {:.2g}). bf16 {}: it has {} bits fewer. So bf16 cures what is a matter of range, not "
      "accumulation, "
      "and norms keep f32 sums in either.",
      f16, bf16, at(DType::f32, 16384).variance_error, at(DType::f16, 64).variance_error,
      at(DType::bf16, 64).variance_error, at(DType::f32, 64).variance_error,
      bf16 > f16 ? "does not cure this but worsens it" : "is no worse here",
      format_row(DType::f16).mantissa_bits - format_row(DType::bf16).mantissa_bits);
}

template <typename Row, typename Function>
OrderedJson array_of(const std::vector<Row>& rows, Function&& json) {
  OrderedJson array = OrderedJson::array();
  for (const Row& row : rows) array.push_back(json(row));
  return array;
}

OrderedJson format_json(const FormatRow& row) {
  return {{"dtype", name(row.dtype)},
          {"bits", row.bits},
          {"exponent_bits", row.exponent_bits},
          {"mantissa_bits", row.mantissa_bits},
          {"epsilon", row.epsilon},
          {"largest", row.largest},
          {"smallest_normal", row.smallest_normal},
          {"smallest_subnormal", row.smallest_subnormal},
          {"first_overflowing_square", first_overflowing_square(row.dtype)}};
}

OrderedJson norm_json(const NormRow& row) {
  return {{"dtype", name(row.dtype)},
          {"mean", row.mean},
          {"layer_norm_error", finite_or_null(row.layer_norm_error)},
          {"rms_norm_error", finite_or_null(row.rms_norm_error)},
          {"squares_overflow_in_layer_norm", row.squares_overflow_in_layer_norm},
          {"squares_overflow_in_rms_norm", row.squares_overflow_in_rms_norm}};
}

OrderedJson rsqrt_json(const RsqrtRow& row) {
  return {{"dtype", name(row.dtype)},
          {"variance", row.variance},
          {"stored", row.stored},
          {"stored_error", row.stored_error},
          {"amplification", row.amplification},
          {"relative_error", finite_or_null(row.relative_error)},
          {"without_epsilon", finite_or_null(row.without_epsilon)}};
}

OrderedJson epsilon_json(const EpsilonRow& row) {
  return {{"dtype", name(row.dtype)},
          {"epsilon", row.epsilon},
          {"stored", row.stored},
          {"subnormal", row.subnormal},
          {"relative_error", row.relative_error}};
}

OrderedJson width_json(const WidthRow& row) {
  return {{"accumulator", name(row.accumulator)},
          {"width", row.width},
          {"mean_error", finite_or_null(row.mean_error)},
          {"variance_error", finite_or_null(row.variance_error)}};
}

}  // namespace

std::string sensitivity_text(const NormSensitivity& s) {
  return formats_text(s) + norms_text(s) + rsqrts_text(s) + epsilons_text(s) + widths_text(s);
}

std::vector<std::string> sensitivity_notes(const NormSensitivity& s) {
  return {note_on_overflow(), note_on_norms(s), note_on_rsqrt(s), note_on_epsilon(s), note_on_accumulation(s)};
}

OrderedJson sensitivity_json(const NormSensitivity& s) {
  return {{"formats", array_of(s.formats, format_json)}, {"norms", array_of(s.norms, norm_json)},
          {"rsqrt", array_of(s.rsqrts, rsqrt_json)},     {"epsilons", array_of(s.epsilons, epsilon_json)},
          {"widths", array_of(s.widths, width_json)},    {"notes", sensitivity_notes(s)}};
}

}  // namespace assay
