#include "published/table_cells.h"

namespace assay {

std::string cell_of(const TextRow& row, std::size_t column) {
  return column < row.cells.size() ? row.cells[column] : std::string();
}

ColumnMeaning meaning_of(const std::string& header, const std::vector<ColumnMapping>& mappings) {
  const std::string plain = plain_text(header);
  for (const ColumnMapping& mapping : mappings) {
    if (mapping.header == header || mapping.header == plain) return {mapping.quantity, mapping.unit, {}};
  }
  return read_column(header);
}

bool holds_words(Quantity quantity) {
  return quantity == Quantity::precision || quantity == Quantity::model || quantity == Quantity::device ||
         quantity == Quantity::key || quantity == Quantity::notes || quantity == Quantity::none;
}

bool is_precision_word(const std::string& plain) {
  return read_precision(plain).precision != PrecisionName::unknown;
}

void put(Observation& observation, Quantity quantity, Unit header_unit, Measured measured) {
  PrintedFigure& figure = measured.figure;
  const Dimension wanted = dimension_of(quantity);
  if (figure.unit.dimension == Dimension::none && header_unit.dimension != Dimension::none) {
    figure.unit = header_unit;
    figure.text += (header_unit.dimension == Dimension::percent ? "" : " ") + unit_name(header_unit);
  }
  // "Params (B)": billions, where a cell is no "7B" of its own.
  const bool is_scaled = wanted == Dimension::none && header_unit.dimension == Dimension::none;
  if (is_scaled && header_unit.factor != 1 && figure.value < 1e5) figure.unit.factor = header_unit.factor;
  // "6.74 B" counts parameters and no bytes.
  if (quantity == Quantity::parameters && figure.unit.dimension == Dimension::bytes)
    figure.unit = {Dimension::none, 1e9};
  if (quantity == Quantity::parameters && figure.behind == "M") figure.unit = {Dimension::none, 1e6};
  const Dimension got = figure.unit.dimension;
  const bool is_share = got == Dimension::percent && wanted == Dimension::ratio;
  if (got != Dimension::none && wanted != Dimension::none && got != wanted && !is_share) return;
  measured.is_absolute = wanted == Dimension::none || wanted == Dimension::ratio || got == wanted;
  figure = in_base_unit(figure);
  if (is_share) figure.unit.dimension = Dimension::percent;
  // "MB" is 10^6 bytes to some and 2^20 to others.
  if (wanted == Dimension::bytes && header_unit.factor != 1048576) figure.range.high *= 1.0486;
  if (figure.spread && spread_of(quantity) != Quantity::none) {
    Measured spread = measured;
    spread.figure.value = *figure.spread;
    spread.figure.range = figure.spread_range;
    spread.figure.spread.reset();
    observation.figures.emplace(spread_of(quantity), std::move(spread));
  }
  observation.figures.emplace(quantity, std::move(measured));
}

}  // namespace assay
