#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/json.h"
#include "base/units.h"
#include "studies/accumulate/run.h"

namespace assay {
namespace {

constexpr DType dtypes[] = {DType::f32, DType::f16, DType::bf16};

int significant_bits(DType dtype) {
  return dtype == DType::f32 ? 24 : dtype == DType::f16 ? 11 : 8;
}

const AccumulateRow& sequential(const std::vector<AccumulateRow>& rows, DType dtype) {
  return find_row(rows, Summation::sequential, dtype, dtype);
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

Table::Column error_column(const char* key, const char* title, const char* meaning) {
  return {.key = key,
          .title = title,
          .meaning = meaning,
          .notation = Notation::scientific,
          .digits = 6,
          .sign = Sign::always};
}

/// A column of where the sum stops growing; absent where it does not grow step by step.
template <typename Figure>
ColumnOf<AccumulateRow> growth_column(Table::Column column, Figure figure) {
  return {std::move(column), [figure](const AccumulateRow& row) -> Table::Cell {
            if (!row.growth) return Absent{};
            return figure(*row.growth);
          }};
}

std::vector<ColumnOf<AccumulateRow>> accumulate_columns() {
  using Row = AccumulateRow;
  using Cell = Table::Cell;
  constexpr auto label = Table::Role::label;
  constexpr auto data = Detail::data;
  constexpr auto exact = Notation::exact;
  return {
      {{.key = "summation", .role = label}, [](const Row& row) -> Cell { return name(row.summation); }},
      {{.key = "accumulator", .title = "sum", .meaning = "dtype of the sum", .role = label},
       [](const Row& row) -> Cell { return name(row.accumulator); }},
      {{.key = "addend", .meaning = "dtype of what is added", .role = label},
       [](const Row& row) -> Cell { return name(row.addend); }},
      {{.key = "addend_value", .meaning = "the addend as its dtype holds it", .notation = exact, .detail = data},
       [](const Row& row) -> Cell { return row.addend_value; }},
      {{.key = "result", .notation = exact}, [](const Row& row) -> Cell { return row.result; }},
      {{.key = "expected", .meaning = "count x addend, in f64", .notation = Notation::general, .digits = 10},
       [](const Row& row) -> Cell { return row.expected; }},
      {error_column("error", "error", "result - expected"), [](const Row& row) -> Cell { return row.error; }},
      {error_column("representation_error", "representation", "of the addend, before anything is added"),
       [](const Row& row) -> Cell { return row.representation_error; }},
      {error_column("accumulation_error", "accumulation", "what the additions rounded away"),
       [](const Row& row) -> Cell { return row.accumulation_error; }},
      growth_column({.key = "growth.stops_at_step",
                     .title = "stops at",
                     .meaning = "the step from which the sum no longer grows",
                     .notation = Notation::count},
                    [](const Growth& growth) { return growth.step; }),
      growth_column({.key = "growth.cause", .detail = data},
                    [](const Growth& growth) { return std::string(name(growth.stop)); }),
      growth_column({.key = "growth.sum", .notation = exact, .detail = data},
                    [](const Growth& growth) { return growth.sum; }),
      growth_column({.key = "growth.half_ulp", .notation = exact, .detail = data},
                    [](const Growth& growth) { return growth.half_ulp; }),
  };
}

Document::Subject subject_of(const AccumulateRequest& request) {
  Document::Subject subject{.schema = "assay-accumulate-1",
                            .title = fmt::format("{} added {} times", request.addend, format_count(request.count))};
  const auto fact = [&](const char* key, const char* meaning, Table::Cell value) {
    add_fact(subject.facts, {.key = key, .meaning = meaning, .notation = Notation::exact, .detail = Detail::data},
             std::move(value));
  };
  fact("addend", "what is added", request.addend);
  fact("count", "how often", request.count);
  fact("seed", "of stochastic rounding", request.seed);
  fact("chunk", "terms a chunk of chunked accumulation", std::int64_t{request.chunk});
  return subject;
}

Figure errors_figure(const std::vector<AccumulateRow>& rows) {
  Figure figure{.kind = FigureKind::bars,
                .key = "errors",
                .caption = "Size of the error by way of adding; sums of chunks and of what is cast are kept in f32",
                .x = {.title = "way of adding"},
                .y = {.title = "size of the error"}};
  for (const DType dtype : dtypes) figure.series.push_back({.name = name(dtype)});
  for (int way = 0; way <= static_cast<int>(Summation::stochastic); ++way)
    figure.x.categories.emplace_back(name(static_cast<Summation>(way)));
  for (const AccumulateRow& row : rows) {
    const auto series = std::find(std::begin(dtypes), std::end(dtypes), row.addend) - std::begin(dtypes);
    figure.series[static_cast<std::size_t>(series)].points.push_back(
        {.x = static_cast<double>(row.summation), .y = std::abs(row.error)});
  }
  return figure;
}

std::vector<std::string> accumulate_notes(const AccumulateRequest& request, const std::vector<AccumulateRow>& rows) {
  std::vector<std::string> notes = {note_on_f32(rows), note_on_order(rows)};
  for (const DType dtype : dtypes) notes.push_back(note_on_stopping(request, sequential(rows, dtype)));
  for (const DType addend : {DType::f16, DType::bf16}) notes.push_back(note_on_cast(request, rows, addend));
  for (const DType dtype : dtypes) notes.push_back(note_on_remedies(request, rows, dtype));
  return notes;
}

}  // namespace

Document accumulate(const AccumulateRequest& request) {
  const std::vector<AccumulateRow> rows = accumulate_rows(request);
  Table table{.key = "rows",
              .legend = fmt::format("error = representation (of the addend) + accumulation (by the additions); stops "
                                    "at: the step from which the sum no longer grows, also where it lies beyond {}",
                                    format_count(request.count))};
  return {.subject = subject_of(request),
          .tables = {filled(std::move(table), accumulate_columns(), rows)},
          .figures = {errors_figure(rows)},
          .sentences = {{.texts = accumulate_notes(request, rows)}}};
}

}  // namespace assay
