#include <fmt/format.h>

#include <cmath>
#include <iterator>

#include "base/json.h"
#include "base/units.h"
#include "experiments/accumulate.h"

namespace assay {
namespace {

constexpr DType dtypes[] = {DType::f32, DType::f16, DType::bf16};

int significant_bits(DType dtype) {
  return dtype == DType::f32 ? 24 : dtype == DType::f16 ? 11 : 8;
}

const AccumulateRow& sequential(const std::vector<AccumulateRow>& rows, DType dtype) {
  return find_row(rows, Summation::sequential, dtype, dtype);
}

std::string stopping_step(const AccumulateRow& row, std::int64_t count) {
  if (!row.growth) return "";
  const std::string step = format_count(row.growth->step);
  return row.growth->step <= count ? step : fmt::format("({})", step);
}

/// Without a sign: that of a NaN means nothing.
std::string signed_figure(double value) {
  return std::isnan(value) ? "nan" : fmt::format("{:+.6e}", value);
}

std::string table_line(const AccumulateRow& row, std::int64_t count) {
  const std::string line = fmt::format(
      "{:<14}{:<5}{:<7}{:>19}{:>14}{:>15}{:>15}{:>15}{:>13}", name(row.summation), name(row.accumulator),
      name(row.addend), std::isnan(row.result) ? "nan" : fmt::format("{}", row.result),
      fmt::format("{:.10g}", row.expected), signed_figure(row.error), signed_figure(row.representation_error),
      signed_figure(row.accumulation_error), stopping_step(row, count));
  return line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
}

std::string why_it_stops(DType dtype, const Growth& growth, double addend) {
  switch (growth.stop) {
    case Stop::half_ulp:
      return fmt::format("at {} half an ulp of {} is {}, more than the addend {}", growth.sum, name(dtype),
                         growth.half_ulp, addend);
    case Stop::tie_to_even:
      return fmt::format("at {} half an ulp of {} equals the addend {}, and the tie goes to the even sum", growth.sum,
                         name(dtype), addend);
    case Stop::overflow:
      return fmt::format("the sum has passed the largest {}", name(dtype));
    case Stop::zero_addend:
      return fmt::format("the addend rounds to 0 in {}", name(dtype));
  }
  return "";
}

std::string note_on_stopping(const AccumulateRequest& request, const AccumulateRow& row) {
  const Growth& growth = *row.growth;
  const char* verb = growth.step <= request.count ? "stops" : "would stop";
  return fmt::format("{} {} growing at step {}: {}.", name(row.accumulator), verb, format_count(growth.step),
                     why_it_stops(row.accumulator, growth, row.addend_value));
}

std::string note_on_order(const std::vector<AccumulateRow>& rows) {
  const AccumulateRow& half = sequential(rows, DType::f16);
  const AccumulateRow& brain = sequential(rows, DType::bf16);
  const bool worse = std::abs(brain.error) > std::abs(half.error);
  return fmt::format(
      "bf16 accumulates {} than f16 here: {:+.6g} off against {:+.6g}, with {} significant bits against {}.",
      worse ? "worse" : "no worse", brain.error, half.error, significant_bits(DType::bf16),
      significant_bits(DType::f16));
}

std::string note_on_f32(const std::vector<AccumulateRow>& rows) {
  const AccumulateRow& row = sequential(rows, DType::f32);
  return fmt::format(
      "f32 is off by {:+.3e} ({:.1e} of the sum), {} 1e-6: {:+.3e} from the addend, {:+.3e} from adding.", row.error,
      std::abs(row.error / row.expected), std::abs(row.error) < 1e-6 ? "below" : "not below", row.representation_error,
      row.accumulation_error);
}

std::string note_on_cast(const AccumulateRequest& request, const std::vector<AccumulateRow>& rows, DType addend) {
  const AccumulateRow& implicit = find_row(rows, Summation::implicit_cast, DType::f32, addend);
  const AccumulateRow& cast = find_row(rows, Summation::explicit_cast, DType::f32, addend);
  const std::string product = fmt::format("{} x {}({}) is {}", format_count(request.count), name(addend),
                                          request.addend, static_cast<double>(request.count) * cast.addend_value);
  const std::string parts = cast.accumulation_error == 0
                                ? fmt::format("{}: all of the error is the addend's", product)
                                : fmt::format("{}: {:+.6g} of the error is the addend's, {:+.6g} comes from adding",
                                              product, cast.representation_error, cast.accumulation_error);
  return fmt::format("f32 sum of {} addends: {}; casting implicitly or explicitly gives {}.", name(addend), parts,
                     implicit.result == cast.result ? "the same result" : "different results");
}

std::string note_on_remedies(const AccumulateRequest& request, const std::vector<AccumulateRow>& rows, DType dtype) {
  const auto error = [&](Summation way) {
    const DType sum = way == Summation::chunked ? DType::f32 : dtype;
    const double value = find_row(rows, way, sum, dtype).error;
    return std::isnan(value) ? "nan" : fmt::format("{:+.3g}", value);
  };
  return fmt::format(
      "{}, error by way of adding: one by one {}, in chunks of {} flushed to f32 {}, pairwise {}, Kahan "
      "{}, stochastic rounding {} (one draw, seed {}).",
      name(dtype), error(Summation::sequential), request.chunk, error(Summation::chunked), error(Summation::pairwise),
      error(Summation::kahan), error(Summation::stochastic), request.seed);
}

OrderedJson row_json(const AccumulateRow& row) {
  OrderedJson json = {{"summation", name(row.summation)},
                      {"accumulator", name(row.accumulator)},
                      {"addend", name(row.addend)},
                      {"addend_value", row.addend_value},
                      {"result", row.result},
                      {"expected", row.expected},
                      {"error", row.error},
                      {"representation_error", row.representation_error},
                      {"accumulation_error", row.accumulation_error},
                      {"growth", nullptr}};
  if (row.growth) {
    json["growth"] = {{"stops_at_step", row.growth->step},
                      {"cause", name(row.growth->stop)},
                      {"sum", row.growth->sum},
                      {"half_ulp", row.growth->half_ulp}};
  }
  return json;
}

/// JSON has no infinity and no NaN.
void replace_non_finite(OrderedJson& json) {
  for (auto& value : json) {
    if (value.is_structured())
      replace_non_finite(value);
    else if (value.is_number_float() && !std::isfinite(value.get<double>()))
      value = nullptr;
  }
}

}  // namespace

std::string accumulate_table(const AccumulateRequest& request, const std::vector<AccumulateRow>& rows) {
  std::string table =
      fmt::format("{:<14}{:<5}{:<7}{:>19}{:>14}{:>15}{:>15}{:>15}{:>13}\n", "summation", "sum", "addend", "result",
                  "expected", "error", "representation", "accumulation", "stops at");
  for (const AccumulateRow& row : rows) table += table_line(row, request.count);
  table += "error = representation (of the addend) + accumulation (by the additions)\n";
  table += fmt::format("stops at: the step from which the sum no longer grows, in brackets where it lies beyond {}\n",
                       format_count(request.count));
  return table;
}

std::vector<std::string> accumulate_notes(const AccumulateRequest& request, const std::vector<AccumulateRow>& rows) {
  std::vector<std::string> notes = {note_on_f32(rows), note_on_order(rows)};
  for (const DType dtype : dtypes) notes.push_back(note_on_stopping(request, sequential(rows, dtype)));
  for (const DType addend : {DType::f16, DType::bf16}) notes.push_back(note_on_cast(request, rows, addend));
  for (const DType dtype : dtypes) notes.push_back(note_on_remedies(request, rows, dtype));
  return notes;
}

OrderedJson accumulate_json(const AccumulateRequest& request, const std::vector<AccumulateRow>& rows) {
  OrderedJson json = {{"addend", request.addend},     {"count", request.count},
                      {"seed", request.seed},         {"chunk", request.chunk},
                      {"rows", OrderedJson::array()}, {"notes", accumulate_notes(request, rows)}};
  for (const AccumulateRow& row : rows) json["rows"].push_back(row_json(row));
  replace_non_finite(json);
  return json;
}

}  // namespace assay
