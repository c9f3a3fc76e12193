#include <algorithm>

#include "formats/table_parts.h"

namespace assay {
namespace {

struct Word {
  std::size_t start;
  std::string_view text;
};

/// Words that blanks separate.
std::vector<Word> words_of(std::string_view line) {
  std::vector<Word> words;
  for (std::size_t at = 0; at < line.size();) {
    const auto start = line.find_first_not_of(" \t\r", at);
    if (start == std::string_view::npos) break;
    const auto end = std::min(line.find_first_of(" \t\r", start), line.size());
    words.push_back({start, line.substr(start, end - start)});
    at = end;
  }
  return words;
}

bool holds_words_together(std::string_view text) {
  return text == "±" || text == "+/-" || text == "+-";
}

/// "0.13 ± 0.00 0.37 ± 0.71" are two cells.
std::vector<std::string> split_words(std::string_view line) {
  std::vector<std::string> cells;
  bool is_open = false;
  for (const Word& word : words_of(line)) {
    const bool glues = holds_words_together(word.text);
    if ((glues || is_open) && !cells.empty()) {
      cells.back() += " " + std::string(word.text);
    } else {
      cells.emplace_back(word.text);
    }
    is_open = glues;
  }
  return cells;
}

/// Where the header's columns begin.
std::vector<std::size_t> starts_of(std::string_view header) {
  std::vector<std::size_t> starts;
  std::size_t last_end = 0;
  for (const Word& word : words_of(header)) {
    if (starts.empty() || word.start >= last_end + 2) starts.push_back(word.start);
    last_end = word.start + word.text.size();
  }
  return starts;
}

std::vector<std::string> split_at(std::string_view line, const std::vector<std::size_t>& starts) {
  std::vector<std::string> cells(starts.size());
  for (const Word& word : words_of(line)) {
    const auto after = std::upper_bound(starts.begin(), starts.end(), word.start);
    const auto column = after == starts.begin() ? 0 : static_cast<std::size_t>(after - starts.begin()) - 1;
    cells[column] += (cells[column].empty() ? "" : " ") + std::string(word.text);
  }
  return cells;
}

}  // namespace

bool is_rule(std::string_view line) {
  const std::string_view text = trimmed(line);
  if (text.size() < 3) return false;
  const auto is_part = [](char c) { return c == '-' || c == '=' || c == '_' || c == ' ' || c == '\t'; };
  if (std::all_of(text.begin(), text.end(), is_part)) return true;
  // A rule of the box-drawing line U+2500.
  constexpr std::string_view box = "─";
  for (std::string_view rest = text; !rest.empty(); rest.remove_prefix(box.size())) {
    if (!rest.starts_with(box)) return false;
  }
  return true;
}

std::vector<std::string> split_columns(std::string_view line) {
  std::vector<std::string> cells;
  std::size_t last_end = 0;
  for (const Word& word : words_of(line)) {
    const bool is_apart = word.start >= last_end + 2 || (word.start > 0 && line[word.start - 1] == '\t');
    if (cells.empty() || is_apart) {
      cells.emplace_back(word.text);
    } else {
      cells.back() += " " + std::string(word.text);
    }
    last_end = word.start + word.text.size();
  }
  return cells;
}

std::vector<std::string> split_row(std::string_view line, std::string_view header) {
  const std::size_t columns = split_columns(header).size();
  std::vector<std::string> apart = split_columns(line);
  if (apart.size() == columns) return apart;
  std::vector<std::string> words = split_words(line);
  if (words.size() == columns) return words;
  if (apart.size() < 2 && words.size() < 2) return {};
  return split_at(line, starts_of(header));
}

}  // namespace assay
