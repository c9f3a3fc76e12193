#include "published/row_figures.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "base/lower_case.h"
#include "published/checks.h"

namespace assay {
namespace {

std::string words_around(const PublishedTable& table, const Observation& row) {
  std::string text = table.context + " " + table.title + " " + row.label + " " + row.group + " " + row.model_text +
                     " " + row.device_text + " " + row.notes;
  // Of a long page what stands nearest; more would be looked through for every row.
  constexpr std::size_t longest = 3000;
  for (const TextLine& line : table.prose) {
    if (text.size() < longest) text += " " + line.text.substr(0, longest);
  }
  for (const std::string& column : table.columns) text += " " + column;
  for (const std::string& column : table.unrecognised) text += " " + column;
  for (const auto& figure : row.figures) text += " " + figure.second.row;
  return lower_case(text);
}

bool is_numeral(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

/// The whole number right before `at`: of "4x a100" at 'x' 4; 0 for none.
double number_before(const std::string& text, std::size_t at) {
  std::size_t from = at;
  while (from > 0 && is_numeral(text[from - 1])) --from;
  double value = 0;
  std::from_chars(text.data() + from, text.data() + at, value);
  const bool is_word = from > 0 && (std::isalnum(static_cast<unsigned char>(text[from - 1])) || text[from - 1] == '.');
  return is_word ? 0 : value;
}

double number_after(const std::string& text, std::size_t at) {
  while (at < text.size() && (text[at] == ' ' || text[at] == '=' || text[at] == ':' || text[at] == '-')) ++at;
  double value = 0;
  std::from_chars(text.data() + at, text.data() + text.size(), value);
  return value;
}

/// "8x H100", "8 x H100", "4 GPUs".
double cards_before_name(const std::string& text) {
  double most = 0;
  for (const std::string_view sign : {"x ", "× ", " x ", "x", "×", " gpus", " cards", "-gpu", "-way"}) {
    for (auto at = text.find(sign); at != std::string::npos; at = text.find(sign, at + 1)) {
      const double cards = number_before(text, at);
      const std::string_view rest = std::string_view(text).substr(at + sign.size());
      const bool names_card = sign.find_first_of("gcw") != std::string_view::npos || rest.starts_with("a100") ||
                              rest.starts_with("h100") || rest.starts_with("nvidia") || rest.starts_with("rtx") ||
                              rest.starts_with("v100") || rest.starts_with("t4") || rest.starts_with("l4") ||
                              rest.starts_with("a10") || rest.starts_with("h200") || rest.starts_with("b200") ||
                              rest.starts_with("a6000") || rest.starts_with("gpu") || rest.starts_with("p100");
      if (names_card && cards <= 1024) most = std::max(most, cards);
    }
  }
  return most;
}

/// "no offloading", "without any speculative decoding": of what stands at `at` its own clause says that it was not;
/// "not without" says that it was.
bool is_denied(const std::string& text, std::size_t at) {
  constexpr std::size_t farthest = 26;
  const std::size_t from = at - std::min(at, farthest);
  std::string clause = " " + text.substr(from, at - from);
  if (const auto end = clause.find_last_of(".,;:|()"); end != std::string::npos) clause = " " + clause.substr(end + 1);
  int denials = 0;
  for (const std::string_view word :
       {" no ", " not ", " without ", " never ", " nothing ", " none ", " ohne ", " sans "})
    denials += clause.find(word) != std::string::npos ? 1 : 0;
  return denials == 1;
}

/// "7B" and "350M" in a model's name.
std::optional<Range> parameters_named(const std::string& text) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (!is_numeral(text[at]) ||
        (at > 0 && (std::isalnum(static_cast<unsigned char>(text[at - 1])) != 0 || text[at - 1] == '.')))
      continue;
    const auto figure = read_figure(text.substr(at, text.find_first_of(" -_/,;)|", at) - at));
    if (!figure || !figure->behind.empty() || figure->value < 1e7 || figure->value > 2e12) continue;
    // Names round further than their digits say: "7B" has 6.6 to 7.7.
    return Range{0.9 * figure->value, 1.12 * figure->value};
  }
  return std::nullopt;
}

/// "tg128" is llama-bench's word for 128 tokens of one stream.
bool generates_alone(const Observation& row) {
  const Measured* rate = row.find(Quantity::tokens_per_s);
  const std::string words = row.group + "|" + (rate ? rate->header : "");
  const auto at = words.find("|tg");
  return at != std::string::npos && at + 3 < words.size() && is_numeral(words[at + 3]);
}

}  // namespace

bool page_says(const PublishedTable& table, const Observation& row, std::initializer_list<std::string_view> words) {
  const std::string text = words_around(table, row);
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
    for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
      if (!is_denied(text, at)) return true;
    }
    return false;
  });
}

double devices_of(const PublishedTable& table, const Observation& row) {
  if (const Measured* devices = row.find(Quantity::devices)) return std::max(1.0, devices->figure.value);
  const std::string text = words_around(table, row);
  double most = std::max(1.0, cards_before_name(text));
  for (const std::string_view word : {"tp", "tensor parallel", "tensor-parallel", "tensor_parallel_size"}) {
    for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
      if (const double cards = number_after(text, at + word.size()); cards <= 1024) most = std::max(most, cards);
    }
  }
  return most;
}

RowFigures::RowFigures(const PublishedTable& table, const Observation& row) {
  add_printed(row);
  add_said(table, row);
}

const KnownFigure* RowFigures::find(Quantity quantity) const {
  const auto found = figures_.find(quantity);
  return found == figures_.end() ? nullptr : &found->second;
}

void RowFigures::add_printed(const Observation& row) {
  for (const auto& figure : row.figures) {
    const Measured& measured = figure.second;
    if (measured.is_absolute && measured.figure.range.low > 0)
      add(figure.first, {measured.figure.range, shown(measured), &measured});
  }
}

void RowFigures::add_said(const PublishedTable& table, const Observation& row) {
  if (const auto batch = batch_of(table, row)) add(Quantity::batch, {exactly(*batch), shown(*batch), nullptr});
  if (generates_alone(row)) add(Quantity::batch, {exactly(1), "1 (a test tg)", nullptr});
  const double parameters = parameters_of(row, model_of(table, row));
  if (parameters > 0) {
    add(Quantity::parameters, {{0.98 * parameters, 1.02 * parameters}, shown(parameters) + " parameters", nullptr});
  } else {
    auto named = parameters_named(row.model_text);
    if (!named) named = parameters_named(row.label);
    if (!named) named = parameters_named(table.context);
    if (named)
      add(Quantity::parameters, {*named, shown(named->low) + " to " + shown(named->high) + " parameters", nullptr});
  }
  const double bits = operand_bits(row.precision.precision);
  if (bits > 0) add(Quantity::bits, {exactly(bits), shown(bits) + " bits", nullptr});
}

}  // namespace assay
