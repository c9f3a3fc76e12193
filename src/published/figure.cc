#include "published/figure.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>

namespace assay {
namespace {

struct Number {
  double value = 0;
  double half = 0;  ///< Half a unit of the last digit printed.
  int significant = 0;
};

/// "1,234.5" and "1.234,5" and "0,7"; a comma before exactly three digits, as in "1,234", separates thousands.
std::string with_point(std::string_view text) {
  const auto comma = text.rfind(',');
  if (comma == std::string_view::npos) return std::string(text);
  const auto point = text.rfind('.');
  const auto behind = text.find_first_not_of("0123456789", comma + 1);
  const std::size_t digits = std::min(behind, text.size()) - comma - 1;
  const bool is_decimal = point != std::string_view::npos ? point < comma : digits != 3 || text.starts_with("0,");
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ',' && is_decimal && i == comma) {
      out += '.';
    } else if (text[i] != ',' && !(text[i] == '.' && is_decimal)) {
      out += text[i];
    }
  }
  return out;
}

/// Takes a number without a sign off the front of `text`.
std::optional<Number> take_number(std::string_view& text) {
  std::size_t end = 0;
  while (end < text.size() &&
         (std::isdigit(static_cast<unsigned char>(text[end])) || text[end] == '.' || text[end] == ','))
    ++end;
  while (end > 0 && (text[end - 1] == ',' || text[end - 1] == '.')) --end;
  if (end == 0 || end > 40) return std::nullopt;
  const std::string mantissa = with_point(text.substr(0, end));
  Number number;
  const auto [stop, error] = std::from_chars(mantissa.data(), mantissa.data() + mantissa.size(), number.value);
  if (error != std::errc() || stop != mantissa.data() + mantissa.size()) return std::nullopt;
  const auto point = mantissa.find('.');
  const auto decimals = point == std::string::npos ? 0 : static_cast<int>(mantissa.size() - point - 1);
  number.half = 0.5 * std::pow(10, -decimals);
  const auto first = mantissa.find_first_not_of("0.");
  for (std::size_t i = first; i < mantissa.size(); ++i) number.significant += mantissa[i] != '.' ? 1 : 0;
  text.remove_prefix(end);
  // An exponent: "1.2e-3".
  int exponent = 0;
  if (text.size() > 1 && (text[0] == 'e' || text[0] == 'E')) {
    const char* from = text.data() + (text[1] == '+' ? 2 : 1);
    const auto [after, bad] = std::from_chars(from, text.data() + text.size(), exponent);
    if (bad == std::errc() && std::abs(exponent) < 300) {
      text.remove_prefix(static_cast<std::size_t>(after - text.data()));
      number.value *= std::pow(10, exponent);
      number.half *= std::pow(10, exponent);
    }
  }
  return number;
}

void skip_blanks(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
}

/// "K", "M" and "B" right behind a number that counts: 128.6M parameters.
double take_scale(std::string_view& text) {
  constexpr std::array scales = {std::pair('k', 1e3), std::pair('K', 1e3), std::pair('M', 1e6), std::pair('B', 1e9)};
  if (text.empty()) return 1;
  const bool is_alone = text.size() == 1 || !std::isalpha(static_cast<unsigned char>(text[1]));
  for (const auto& [letter, factor] : scales) {
    if (text[0] != letter || !is_alone || (text.size() > 1 && text[1] == '/')) continue;
    text.remove_prefix(1);
    return factor;
  }
  return 1;
}

Unit take_unit(std::string_view& text) {
  std::string_view rest = text;
  skip_blanks(rest);
  const auto end = std::min(rest.find_first_of(" (),;:!?|[~0123456789"), rest.size());
  for (std::size_t length = end; length > 0; --length) {
    const auto unit = read_unit(rest.substr(0, length));
    const bool is_whole =
        length == end || rest[length] == '/' || rest[length] == '.' || rest.substr(length).starts_with("±");
    if (!unit || !is_whole) continue;
    rest.remove_prefix(length);
    // "46 mJ/sample", "3 ms per step".
    if (rest.starts_with('/')) rest.remove_prefix(std::min(rest.find(' '), rest.size()));
    text = rest;
    return *unit;
  }
  return {};
}

bool take_text(std::string_view& text, std::string_view word) {
  skip_blanks(text);
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  skip_blanks(text);
  return true;
}

bool take_plus_minus(std::string_view& text) {
  return take_text(text, "±") || take_text(text, "+/-") || take_text(text, "+-") || take_text(text, "\\pm");
}

void take_spread(std::string_view& text, PrintedFigure& figure) {
  const bool in_parentheses = take_text(text, "(±");
  if (!in_parentheses && !take_plus_minus(text)) return;
  skip_blanks(text);
  const auto number = take_number(text);
  if (!number) return;
  double factor = 1;
  const Unit unit = take_unit(text);
  if (unit.dimension == Dimension::percent && figure.unit.dimension != Dimension::percent) {
    factor = 0.01 * std::abs(figure.value);
  } else if (unit.dimension != Dimension::none) {
    figure.unit = figure.unit.dimension == Dimension::none ? unit : figure.unit;
    factor = unit.factor / figure.unit.factor;
  }
  figure.spread = number->value * factor;
  figure.spread_range = {(number->value - number->half) * factor, (number->value + number->half) * factor};
}

/// "40-50 mJ" and "0.5–0.7ms" are ranges of their own.
void take_range(std::string_view& text, PrintedFigure& figure) {
  std::string_view rest = text;
  const bool is_range = take_text(rest, "–") || take_text(rest, "-") || take_text(rest, "to ");
  if (!is_range || rest.empty() || !std::isdigit(static_cast<unsigned char>(rest[0]))) return;
  const auto upper = take_number(rest);
  if (!upper || upper->value <= figure.value) return;
  figure.range.high = upper->value + upper->half;
  figure.value = (figure.value + upper->value) / 2;
  figure.is_about = true;
  text = rest;
}

}  // namespace

PrintedFigure in_base_unit(PrintedFigure figure) {
  const double factor = figure.unit.factor;
  figure.value *= factor;
  figure.range = scaled(figure.range, factor);
  if (figure.spread) *figure.spread *= factor;
  figure.spread_range = scaled(figure.spread_range, factor);
  figure.unit.factor = 1;
  return figure;
}

std::optional<PrintedFigure> read_figure(std::string_view cell) {
  const std::string plain = plain_text(cell);
  std::string_view text = plain;
  PrintedFigure figure;
  figure.text = plain;
  while (take_text(text, "~") || take_text(text, "≈") || take_text(text, "about ")) figure.is_about = true;
  bool is_negative = take_text(text, "−");
  is_negative = take_text(text, "-") || is_negative;
  if (take_text(text, "×") || (text.size() > 1 && text[0] == 'x' && std::isdigit(static_cast<unsigned char>(text[1])) &&
                               take_text(text, "x"))) {
    figure.unit = {Dimension::ratio, 1};
  }
  take_text(text, "+");
  const auto number = take_number(text);
  if (!number) return std::nullopt;
  figure.value = number->value;
  figure.range = {number->value - number->half, number->value + number->half};
  figure.significant = number->significant;
  take_range(text, figure);
  const double scale = take_scale(text);
  if (scale != 1) {
    figure.value *= scale;
    figure.range = scaled(figure.range, scale);
  }
  if (is_negative) {
    figure.value = -figure.value;
    figure.range = {-figure.range.high, -figure.range.low};
  }
  if (figure.unit.dimension == Dimension::none) figure.unit = take_unit(text);
  take_spread(text, figure);
  if (figure.unit.dimension == Dimension::none) figure.unit = take_unit(text);
  skip_blanks(text);
  // "2.7B" is a name where letters follow, "12 layers" a count with words; "4090 Ti" and "v2" are no figures.
  if (!text.empty() && std::isalpha(static_cast<unsigned char>(text[0])) && figure.unit.dimension == Dimension::none &&
      plain.size() > 0 && text.data() > plain.data() && *(text.data() - 1) != ' ')
    return std::nullopt;
  figure.behind = text;
  return figure;
}

std::vector<FigureInText> figures_in(const std::string& text) {
  constexpr std::size_t longest = 60;
  const auto is_digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  std::vector<FigureInText> mentions;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool is_inside = at > 0 && (std::isalnum(static_cast<unsigned char>(text[at - 1])) || text[at - 1] == '.' ||
                                      text[at - 1] == ',' || text[at - 1] == '-');
    if (!is_digit(text[at]) || is_inside) continue;
    const auto figure = read_figure(std::string_view(text).substr(at, longest));
    if (!figure) continue;
    const std::size_t length = std::min(longest, text.size() - at);
    const std::size_t used = length - std::min(length, figure->behind.size());
    if (used == 0) continue;
    mentions.push_back({at, at + used, *figure});
    at += used - 1;
  }
  return mentions;
}

}  // namespace assay
