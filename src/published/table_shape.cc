#include "published/table_shape.h"

#include <algorithm>
#include <set>

#include "published/table_cells.h"

namespace assay {
namespace {

bool is_any_of(const std::string& word, std::initializer_list<std::string_view> any) {
  return std::find(any.begin(), any.end(), word) != any.end();
}

bool heads_any_of(const std::string& header, std::initializer_list<std::string_view> any) {
  const auto words = words_of_header(plain_text(header));
  return !words.empty() && words.size() <= 2 &&
         std::any_of(words.begin(), words.end(), [&](const std::string& word) { return is_any_of(word, any); });
}

bool is_unit_header(const std::string& header) {
  return heads_any_of(header, {"unit", "units", "einheit", "unité"});
}

/// "(ms)", "[W]", "img/s".
bool is_unit_cell(std::string text) {
  std::erase_if(text, [](char c) { return c == '(' || c == ')' || c == '[' || c == ']'; });
  return read_unit(text).has_value();
}

bool names_figure(const std::string& cell) {
  const Quantity quantity = read_column(cell).quantity;
  // "opt-6.7b" is a model, "AdamW" alone a method.
  const bool is_method = cell == "Adam" || cell == "AdamW" || cell == "adam" || cell == "adamw";
  if (quantity == Quantity::optimizer && (is_method || cell.find_first_of("0123456789") != std::string::npos))
    return false;
  return quantity != Quantity::none && !holds_words(quantity);
}

bool names_row(const std::string& cell) {
  return names_figure(cell) || read_column(cell).quantity == Quantity::device;
}

double share_of_figures(const ParsedTable& text, std::size_t column) {
  return share_of(text, column, [](const std::string& plain) { return read_figure(plain).has_value(); });
}

std::size_t width_of(const ParsedTable& text) {
  return text.header.size();
}

void erase_column(ShapedTable& table, std::size_t column) {
  const auto erase = [&](std::vector<std::string>& cells) {
    if (column < cells.size()) cells.erase(cells.begin() + static_cast<std::ptrdiff_t>(column));
  };
  erase(table.text.header);
  erase(table.spans);
  for (TextRow& row : table.text.rows) erase(row.cells);
}

int filled_cells(const TextRow& row) {
  return static_cast<int>(
      std::count_if(row.cells.begin(), row.cells.end(), [](const std::string& cell) { return !cell.empty(); }));
}

/// A first row that holds headers: "| | Batch 1 | |" above "| Precision | Latency (ms) | Images/s |", or
/// "| | Latency (ms) | |" above "| Model | FP32 | INT8 |".
bool is_second_header(const ParsedTable& text) {
  if (text.rows.size() < 2 || text.header.size() < 3) return false;
  int named = 0;
  for (const std::string& cell : text.rows.front().cells) {
    const std::string plain = plain_text(cell);
    if (read_figure(plain)) return false;
    named += names_figure(plain) || is_precision_word(plain) ? 1 : 0;
  }
  const bool has_gaps =
      std::any_of(text.header.begin() + 1, text.header.end(), [](const std::string& header) { return header.empty(); });
  const bool repeats = std::set(text.header.begin(), text.header.end()).size() < text.header.size();
  return named >= 2 && (has_gaps || repeats);
}

void join_second_header(ShapedTable& table) {
  ParsedTable& text = table.text;
  if (!is_second_header(text)) return;
  const TextRow second = text.rows.front();
  text.rows.erase(text.rows.begin());
  text.header.resize(std::max(text.header.size(), second.cells.size()));
  table.spans.resize(text.header.size());
  std::string span;
  for (std::size_t i = 0; i < text.header.size(); ++i) {
    if (!text.header[i].empty()) span = plain_text(text.header[i]);
    const std::string below = plain_text(cell_of(second, i));
    if (below.empty()) continue;
    const bool is_of_span = names_figure(span) && !names_figure(below);
    if (!is_of_span && i > 0) table.spans[i] = span;
    text.header[i] = is_of_span ? below + " " + span : below;
  }
}

/// A first row of units alone.
void join_units(ParsedTable& text) {
  if (text.rows.size() < 2) return;
  const TextRow first = text.rows.front();
  const auto units =
      std::count_if(first.cells.begin(), first.cells.end(), [](const std::string& cell) { return is_unit_cell(cell); });
  if (units < 1 || units < filled_cells(first) - 1) return;
  for (std::size_t i = 0; i < text.header.size(); ++i) {
    if (is_unit_cell(cell_of(first, i))) text.header[i] += " (" + cell_of(first, i) + ")";
  }
  text.rows.erase(text.rows.begin());
}

/// A row with a first cell alone heads those below it; they take its words into a column of their own.
void name_sections(ShapedTable& table) {
  ParsedTable& text = table.text;
  if (width_of(text) < 2) return;
  std::string section;
  std::vector<TextRow> rows;
  bool has_any = false;
  for (std::size_t i = 0; i < text.rows.size(); ++i) {
    TextRow row = text.rows[i];
    const bool is_head = filled_cells(row) == 1 && !cell_of(row, 0).empty() && i + 1 < text.rows.size() &&
                         filled_cells(text.rows[i + 1]) > 1;
    if (is_head) {
      section = plain_text(row.cells[0]);
      has_any = true;
      continue;
    }
    row.cells.resize(width_of(text));
    row.cells.push_back(section);
    rows.push_back(std::move(row));
  }
  if (!has_any) return;
  text.rows = std::move(rows);
  text.header.emplace_back("section");
  table.spans.emplace_back();
}

/// A blank below a label that holds for several rows.
void fill_down(ParsedTable& text) {
  for (std::size_t column = 0; column < std::min<std::size_t>(2, width_of(text)); ++column) {
    if (read_column(text.header[column]).quantity == Quantity::notes) continue;
    if (column > 0 && share_of_figures(text, column) >= 0.5) continue;
    std::string above;
    for (TextRow& row : text.rows) {
      if (column >= row.cells.size()) continue;
      if (row.cells[column].empty()) row.cells[column] = above;
      above = row.cells[column];
    }
  }
}

std::vector<std::string> split_at_slashes(const std::string& text) {
  std::vector<std::string> parts = {""};
  for (const char c : text) {
    if (c == '/') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

bool are_figures(const std::vector<std::string>& parts) {
  return std::all_of(parts.begin(), parts.end(), [](const std::string& part) {
    const auto figure = read_figure(part);
    return figure && figure->behind.empty();
  });
}

/// "Latency p50 / p95 (ms)" is "Latency p50 (ms)" and "p95 (ms)".
std::vector<std::string> split_header(const std::string& header) {
  const auto open = header.find_last_of("([");
  const std::string unit = open == std::string::npos ? "" : " " + header.substr(open);
  std::vector<std::string> parts = split_at_slashes(header.substr(0, open));
  for (std::string& part : parts) part += unit;
  // "correct / total" is a count of a count.
  if (parts.size() == 2 && heads_any_of(parts[0], {"correct", "hits"})) parts[1] = "n";
  return parts;
}

void split_column(ShapedTable& table, std::size_t column) {
  ParsedTable& text = table.text;
  const std::vector<std::string> headers = split_header(text.header[column]);
  const double split = share_of(text, column, [&](const std::string& plain) {
    const auto parts = split_at_slashes(plain);
    return parts.size() == headers.size() && are_figures(parts);
  });
  if (headers.size() < 2 || split < 0.6) return;
  const auto at = static_cast<std::ptrdiff_t>(column);
  const auto put_parts = [&](std::vector<std::string>& cells, const std::vector<std::string>& parts) {
    cells.erase(cells.begin() + at);
    cells.insert(cells.begin() + at, parts.begin(), parts.end());
  };
  put_parts(text.header, headers);
  put_parts(table.spans, std::vector<std::string>(headers.size(), table.spans[column]));
  for (TextRow& row : text.rows) {
    std::vector<std::string> parts = split_at_slashes(plain_text(cell_of(row, column)));
    parts.resize(headers.size());
    row.cells.resize(std::max(row.cells.size(), column + 1));
    put_parts(row.cells, parts);
  }
}

std::size_t unit_column(const ParsedTable& text) {
  const auto unit = std::find_if(text.header.begin(), text.header.end(), is_unit_header);
  return unit == text.header.end() ? std::string::npos : static_cast<std::size_t>(unit - text.header.begin());
}

/// Units of a column of their own go behind the quantity's name.
void place_units(ShapedTable& table, std::size_t names) {
  const std::size_t column = unit_column(table.text);
  if (column == std::string::npos) return;
  for (TextRow& row : table.text.rows) {
    const std::string word = plain_text(cell_of(row, column));
    if (names < row.cells.size() && !word.empty()) row.cells[names] = plain_text(row.cells[names]) + " (" + word + ")";
  }
  erase_column(table, column);
}

/// Where units alone say what a result is, they become its name: "W" is "power (W)".
void name_by_units(ParsedTable& text, std::size_t column) {
  for (TextRow& row : text.rows) {
    const std::string word = plain_text(cell_of(row, column));
    const auto unit = read_unit(word);
    const Quantity usual = unit ? usual_quantity(unit->dimension) : Quantity::none;
    if (usual != Quantity::none) row.cells[column] = std::string(name(usual)) + " (" + word + ")";
  }
  text.header[column] = "metric";
}

/// The column that says which quantity its row holds; npos for none.
std::size_t quantity_column(const ParsedTable& text) {
  const bool has_precisions = std::any_of(text.header.begin(), text.header.end(), is_precision_word);
  for (std::size_t i = 0; i < width_of(text); ++i) {
    const Quantity own = read_column(text.header[i]).quantity;
    const bool may_name = own == Quantity::none || own == Quantity::key || own == Quantity::speedup ||
                          (i == 0 && (own == Quantity::device || own == Quantity::precision));
    if (!may_name || is_unit_header(text.header[i]) || share_of_figures(text, i) > 0.3) continue;
    // Names of tasks are scores, all of them.
    const double scores =
        share_of(text, i, [](const std::string& cell) { return read_column(cell).quantity == Quantity::accuracy; });
    const double named = share_of(text, i, names_row) - scores;
    const double precisions = share_of(text, i, is_precision_word);
    if (precisions < 0.3 && named >= (i == 0 && has_precisions ? 0.3 : 0.6)) return i;
  }
  return std::string::npos;
}

bool is_value_header(const std::string& header) {
  return heads_any_of(header, {"value", "values", "result", "results", "measured", "measurement", "wert", "valeur",
                               "mean", "avg", "average", "time", "duration", "performance", "perf"});
}

std::vector<std::size_t> columns_of_figures(const ParsedTable& text, std::size_t without) {
  std::vector<std::size_t> columns;
  for (std::size_t i = 0; i < width_of(text); ++i) {
    if (i != without && share_of_figures(text, i) >= 0.5) columns.push_back(i);
  }
  return columns;
}

/// Words of a quantity's name that tell rows apart: "SingleStream" of "SingleStream latency".
std::string rest_of_name(const std::string& name) {
  std::string rest;
  for (const std::string& word : words_of_header(name.substr(0, name.find('(')))) {
    const bool is_common =
        is_any_of(word, {"per",  "inference", "image", "sample", "item",        "board",   "gpu",   "avg", "mean",
                         "peak", "whole",     "pass",  "total",  "max",         "average", "run",   "of",  "the",
                         "only", "full",      "size",  "rate",   "consumption", "use",     "usage", "draw"});
    if (!is_common && read_column(word).quantity == Quantity::none && !read_unit(word)) rest += word + " ";
  }
  return rest;
}

/// One quantity a row becomes one column a quantity; what else stands in the rows tells them apart.
void spread_quantities(ShapedTable& table, std::size_t names, std::size_t values) {
  const ParsedTable old = std::move(table.text);
  ParsedTable& text = table.text;
  text = old;
  text.header.clear();
  text.rows.clear();
  std::vector<std::size_t> keys;
  for (std::size_t i = 0; i < width_of(old); ++i) {
    const bool is_spread = read_column(old.header[i]).quantity == Quantity::latency_std;
    if (i != names && i != values && !is_spread) keys.push_back(i);
  }
  for (const std::size_t key : keys) text.header.push_back(old.header[key]);
  text.header.emplace_back("section");
  const auto open = old.header[values].find_first_of("([");
  const Unit unit = read_column(old.header[values]).unit;
  for (const TextRow& row : old.rows) {
    TextRow own = row;
    own.cells.clear();
    for (const std::size_t key : keys) own.cells.push_back(cell_of(row, key));
    std::string name = plain_text(cell_of(row, names));
    own.cells.push_back(rest_of_name(name));
    if (open != std::string::npos && name.find('(') == std::string::npos)
      name += " " + old.header[values].substr(open);
    else if (unit.dimension != Dimension::none && name.find('(') == std::string::npos)
      name += " (" + unit_name(unit) + ")";
    auto place = std::find(text.header.begin() + std::ssize(keys) + 1, text.header.end(), name);
    const auto column = static_cast<std::size_t>(place - text.header.begin());
    if (place == text.header.end()) text.header.push_back(name);
    const auto same = std::find_if(text.rows.begin(), text.rows.end(), [&](const TextRow& other) {
      return std::equal(own.cells.begin(), own.cells.end(), other.cells.begin()) && cell_of(other, column).empty();
    });
    TextRow& into = same == text.rows.end() ? text.rows.emplace_back(std::move(own)) : *same;
    into.cells.resize(std::max(into.cells.size(), column + 1));
    into.cells[column] = cell_of(row, values);
  }
  table.spans.assign(text.header.size(), "");
}

/// Rows become columns.
void turn(ShapedTable& table) {
  const ParsedTable old = std::move(table.text);
  ParsedTable& text = table.text;
  text = old;
  text.rows.clear();
  text.header = {""};
  const auto section = std::find(old.header.begin(), old.header.end(), "section");
  const auto sections = static_cast<std::size_t>(section - old.header.begin());
  for (const TextRow& row : old.rows) {
    const std::string head = plain_text(cell_of(row, 0));
    const std::string above = sections < old.header.size() ? cell_of(row, sections) : "";
    text.header.push_back(names_figure(above) && !names_figure(head) ? above + " " + head : head);
  }
  for (std::size_t i = 1; i < old.header.size(); ++i) {
    if (i == sections) continue;
    TextRow row;
    row.line = old.line;
    row.cells = {table.spans[i].empty() ? old.header[i] : table.spans[i] + " " + old.header[i]};
    for (const TextRow& other : old.rows) row.cells.push_back(other.is_struck ? "" : cell_of(other, i));
    text.rows.push_back(std::move(row));
  }
  table.spans.assign(text.header.size(), "");
  table.is_turned = true;
}

}  // namespace

ShapedTable shaped(const ParsedTable& table) {
  ShapedTable out{table, std::vector<std::string>(table.header.size()), false};
  join_second_header(out);
  join_units(out.text);
  name_sections(out);
  fill_down(out.text);
  for (std::size_t i = 0; i < width_of(out.text); ++i) split_column(out, i);
  std::size_t names = quantity_column(out.text);
  const std::size_t units = unit_column(out.text);
  if (names == std::string::npos && units != std::string::npos) {
    name_by_units(out.text, units);
    names = units;
  }
  if (names == std::string::npos) return out;
  place_units(out, names);
  const std::vector<std::size_t> figures = columns_of_figures(out.text, names);
  const bool has_precisions = std::any_of(
      figures.begin(), figures.end(), [&](std::size_t column) { return is_precision_word(out.text.header[column]); });
  const auto value = std::find_if(figures.begin(), figures.end(), [&](std::size_t column) {
    return is_value_header(out.text.header[column]) || (names == units && column + 1 == units);
  });
  if (value != figures.end() && !has_precisions) {
    spread_quantities(out, names, *value);
  } else if (names == 0 && !figures.empty()) {
    turn(out);
  }
  return out;
}

}  // namespace assay
