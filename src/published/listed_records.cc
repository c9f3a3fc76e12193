#include "published/listed_records.h"

#include <algorithm>
#include <map>

#include "published/table_cells.h"

namespace assay {
namespace {

/// A line without what lists are marked with: "- ", "* ", "3. ".
struct ListedLine {
  int line = 0;
  std::string text;
  bool is_item = false;
  bool is_heading = false;
};

ListedLine listed_line(const TextLine& source) {
  std::string_view text = source.text;
  ListedLine out{.line = source.line, .text = {}, .is_item = false, .is_heading = text.starts_with('#')};
  for (const std::string_view mark : {"- ", "* ", "+ ", "• ", "– "})
    out.is_item = out.is_item || text.starts_with(mark);
  const auto digits = text.find_first_not_of("0123456789");
  if (digits != 0 && digits != std::string_view::npos && (text.substr(digits).starts_with(". "))) out.is_item = true;
  if (out.is_item) text.remove_prefix(text.find(' ') + 1);
  if (out.is_heading) text.remove_prefix(std::min(text.find_first_not_of("# "), text.size()));
  out.text = plain_text(text);
  return out;
}

/// "Latency" of 12.3 ms, "Precision" of BF16; the words of a figure that stands in no such pair name it themselves.
struct NamedValue {
  std::string name;
  std::string value;
};

/// The words of the text without its figure and brackets around precisions: "latency" of "12.3 ms latency (FP16)".
std::string words_beside(const std::string& text, const FigureInText& figure) {
  std::string words = text.substr(0, figure.from) + " " + text.substr(std::min(figure.to, text.size()));
  const auto open = words.find('(');
  if (open != std::string::npos) words.erase(open, words.find(')', open) - open + 1);
  const auto first = words.find_first_not_of(" :=,.;~≈");
  if (first == std::string::npos) return "";
  return words.substr(first, words.find_last_not_of(" :=,.;~") - first + 1);
}

/// Parts between commas and semicolons that no digit follows: of "accuracy 91.06 %, latency 22.0 ms" both.
std::vector<std::string> parts_of_line(const std::string& text) {
  std::vector<std::string> parts = {""};
  int depth = 0;
  for (const char c : text) {
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    const bool parts_here = depth <= 0 && (c == ';' || c == '|' || (c == ' ' && parts.back().ends_with(',')));
    if (parts_here) {
      if (parts.back().ends_with(',')) parts.back().pop_back();
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

constexpr std::size_t most_words = 6;

std::optional<NamedValue> named_value(const std::string& part) {
  const auto figures = figures_in(part);
  if (figures.empty()) return std::nullopt;
  const std::string words = words_beside(part, figures.front());
  const std::size_t count = words_of_header(words).size();
  if (count > most_words) return std::nullopt;
  const std::string value = part.substr(figures.front().from);
  if (count > 0 && read_column(words).quantity != Quantity::none) return NamedValue{words, value};
  const Quantity usual = usual_quantity(figures.front().figure.unit.dimension);
  if (usual == Quantity::none) return std::nullopt;
  return NamedValue{name(usual), value};
}

PrecisionName precision_in(const std::string& text) {
  return read_precision(text).precision;
}

/// "FP16 latency" is latency.
std::string without_precision(const std::string& name) {
  std::string rest;
  std::string word;
  for (const char c : name + " ") {
    if (c != ' ') {
      word += c;
      continue;
    }
    if (!word.empty() && precision_in(word) == PrecisionName::unknown) rest += (rest.empty() ? "" : " ") + word;
    word.clear();
  }
  return rest;
}

class Lister {
 public:
  explicit Lister(const TextDocument& document) {
    for (const TextLine& line : document.prose) read(listed_line(line));
    if (!document.prose.empty()) table_.line = document.prose.front().line;
    table_.title = table_.headings.empty() ? "" : table_.headings.front();
  }

  std::optional<ParsedTable> table() {
    share_prelude();
    std::erase_if(records_, [](const Record& record) { return !record.has_figure; });
    if (records_.empty()) return std::nullopt;
    table_.header = {"Precision"};
    for (const Record& record : records_) {
      for (const auto& cell : record.cells) column_of(cell.first);
    }
    for (const Record& record : records_) table_.rows.push_back(row_of(record));
    return std::move(table_);
  }

 private:
  struct Record {
    int line = 0;
    std::string label;
    std::string section;
    std::vector<std::pair<std::string, std::string>> cells;
    bool has_figure = false;
  };

  void read(const ListedLine& line) {
    const auto colon = line.text.find_first_of(":=");
    const bool has_value = colon != std::string::npos && line.text.find_first_not_of(" :=", colon) != std::string::npos;
    const std::size_t words = words_of_header(line.text).size();
    if (line.is_heading) return begin_heading(line);
    const bool names_section = colon != std::string::npos ? !has_value : line.is_item && figures_in(line.text).empty();
    if (names_section && words <= most_words) return begin_section(line.text.substr(0, colon), line.line);
    if (has_value && read_pair(line, colon)) return;
    if (line.is_item) read_parts(line.text, line.line, current(line.line));
    if (!line.is_item && !has_value) table_.paragraph += (table_.paragraph.empty() ? "" : " ") + line.text;
  }

  void begin_heading(const ListedLine& line) {
    if (precision_in(line.text) == PrecisionName::unknown) table_.headings.push_back(line.text);
    begin_section(line.text, line.line);
  }

  void begin_section(const std::string& words, int line) {
    section_ = words;
    if (precision_in(words) != PrecisionName::unknown)
      begin(words, line);
    else
      is_open_ = false;
  }

  Record& begin(const std::string& label, int line) {
    records_.push_back({.line = line, .label = label, .section = section_, .cells = {}, .has_figure = false});
    is_open_ = true;
    return records_.back();
  }

  Record& current(int line) { return is_open_ ? records_.back() : begin(section_, line); }

  /// The record of the section that has this precision.
  Record& of_precision(const std::string& words, int line) {
    for (Record& record : records_) {
      const bool is_same = precision_in(record.label) == precision_in(words) && record.section == section_;
      if (is_same) return record;
    }
    return begin(words, line);
  }

  /// "Latency: 12.3 ms (FP16)", "FP16 latency: 12.3 ms", "FP16: accuracy 91 %, latency 12 ms", "Precision: FP16".
  bool read_pair(const ListedLine& line, std::size_t colon) {
    const std::string key = line.text.substr(0, line.text.find_last_not_of(" ", colon - (colon > 0 ? 1 : 0)) + 1);
    const std::string value = line.text.substr(line.text.find_first_not_of(" :=", colon));
    if (words_of_header(key).empty() || words_of_header(key).size() > most_words) return false;
    const ColumnMeaning meaning = read_column(key);
    const auto figures = figures_in(value);
    const bool begins_with_figure = !figures.empty() && figures.front().from <= 2;
    if (meaning.quantity == Quantity::speedup || meaning.quantity == Quantity::energy_ratio) return true;  // A claim.
    if (precision_in(key) != PrecisionName::unknown && (meaning.quantity == Quantity::none || !begins_with_figure)) {
      return read_parts(value, line.line, of_precision(key, line.line));
    }
    if (meaning.quantity == Quantity::none) return false;
    if (!begins_with_figure && words_of_header(value).size() > 2 * most_words) return false;
    const std::string own = precision_in(key) != PrecisionName::unknown ? key : aside_of(value);
    Record& into = precision_in(own) != PrecisionName::unknown ? of_precision(own, line.line) : current(line.line);
    put_into(into, {without_precision(key), value}, line.line);
    return true;
  }

  /// "FP16" of "12.3 ms (FP16)".
  static std::string aside_of(const std::string& value) {
    const auto open = value.find('(');
    return open == std::string::npos || figures_in(value.substr(0, open)).empty() ? "" : value.substr(open);
  }

  bool read_parts(const std::string& text, int line, Record& into) {
    bool is_any = false;
    for (const std::string& part : parts_of_line(text)) {
      const auto one = named_value(part);
      if (!one) continue;
      const std::string own = aside_of(one->value);
      put_into(precision_in(own) != PrecisionName::unknown ? of_precision(own, line) : into,
               {without_precision(one->name), one->value}, line);
      is_any = true;
    }
    return is_any;
  }

  /// A name that the record has already begins another, with what stood before that name in the first.
  void put_into(Record& record, NamedValue pair, int line) {
    const auto same = std::find_if(record.cells.begin(), record.cells.end(),
                                   [&](const auto& cell) { return cell.first == pair.name; });
    Record* into = &record;
    if (same != record.cells.end()) {
      Record next{.line = line,
                  .label = record.label,
                  .section = record.section,
                  .cells = {record.cells.begin(), same},
                  .has_figure = false};
      records_.push_back(std::move(next));
      into = &records_.back();
    }
    const Quantity quantity = read_column(pair.name).quantity;
    if (quantity == Quantity::precision) into->label = pair.value;
    into->has_figure = into->has_figure || (!holds_words(quantity) && !figures_in(pair.value).empty());
    into->cells.emplace_back(std::move(pair.name), std::move(pair.value));
  }

  /// "GPU: T4" above the first precision is said of all.
  void share_prelude() {
    const auto names_one = [](const Record& record) { return precision_in(record.label) != PrecisionName::unknown; };
    const auto first = std::find_if(records_.begin(), records_.end(), names_one);
    if (first == records_.end() || first == records_.begin()) return;
    const std::vector<Record> prelude(records_.begin(), first);
    records_.erase(records_.begin(), first);
    for (Record& record : records_) {
      for (const Record& one : prelude) {
        for (const auto& cell : one.cells) {
          const bool has = std::any_of(record.cells.begin(), record.cells.end(),
                                       [&](const auto& own) { return own.first == cell.first; });
          if (!has) record.cells.push_back(cell);
        }
      }
    }
  }

  std::size_t column_of(const std::string& name) {
    if (read_column(name).quantity == Quantity::precision) return 0;
    const auto found = std::find(table_.header.begin() + 1, table_.header.end(), name);
    const auto at = static_cast<std::size_t>(found - table_.header.begin());
    if (found == table_.header.end()) table_.header.push_back(name);
    return at;
  }

  TextRow row_of(const Record& record) {
    TextRow row;
    row.line = record.line;
    row.cells.resize(table_.header.size());
    row.cells[0] = record.label;
    for (const auto& cell : record.cells) row.cells[column_of(cell.first)] = cell.second;
    return row;
  }

  ParsedTable table_;
  std::vector<Record> records_;
  std::string section_;
  bool is_open_ = false;
};

}  // namespace

std::optional<ParsedTable> listed_records(const TextDocument& document) {
  return Lister(document).table();
}

}  // namespace assay
