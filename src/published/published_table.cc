#include "published/published_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "base/error.h"
#include "published/table_layout.h"

namespace assay {
namespace {

/// The nearest text that names one known thing: the paragraph, then headings from the nearest up.
template <typename Named>
auto nearest(const ParsedTable& table, Named&& named, std::string& source) -> decltype(named("")) {
  if (const auto found = named(table.paragraph)) {
    source = "the paragraph above";
    return found;
  }
  for (auto heading = table.headings.rbegin(); heading != table.headings.rend(); ++heading) {
    if (const auto found = named(*heading)) {
      source = "the heading '" + plain_text(*heading) + "'";
      return found;
    }
  }
  return nullptr;
}

/// A figure of the text, by its dimension and the words right before or behind it.
struct SaidFigure {
  double SaidOfDevice::*into;
  Dimension dimension;
  std::initializer_list<std::string_view> words;
};
const SaidFigure said_figures[] = {
    {&SaidOfDevice::idle_w, Dimension::power, {"idle", "leerlauf", "au repos"}},
    {&SaidOfDevice::power_limit_w,
     Dimension::power,
     {"tdp", "power limit", "power cap", "capped", "w mode", "board limit", "limited to", "nvpmodel"}},
    {&SaidOfDevice::bandwidth_gb_s, Dimension::bandwidth, {"(", "bandwidth", "memory", "hbm", "ddr"}},
};

void find_said(PublishedTable& table) {
  constexpr std::size_t before = 36;
  constexpr std::size_t behind = 12;
  std::string text = plain_text(table.context);
  for (const FigureInText& mention : figures_in(text)) {
    const std::size_t from = mention.from - std::min(mention.from, before);
    // "limit 250 W, its idle power 31 W": behind a comma stands another's word.
    const std::size_t end = std::min(text.find_first_of(",;", mention.to), mention.to + behind);
    std::string near = text.substr(from, end - from);
    for (char& c : near) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    for (const SaidFigure& one : said_figures) {
      const bool is_said = std::any_of(one.words.begin(), one.words.end(),
                                       [&](auto word) { return near.find(word) != std::string::npos; });
      const bool is_measured = near.find("achiev") != std::string::npos || near.find("reach") != std::string::npos;
      if (is_measured || mention.figure.unit.dimension != one.dimension || !is_said) continue;
      table.said.*one.into = std::max(table.said.*one.into, in_base_unit(mention.figure).value);
    }
  }
}

void find_context(const ParsedTable& text, const TableContext& context, PublishedTable& table) {
  table.device = context.device;
  table.device_source = "--device";
  if (!table.device) table.device = nearest(text, known_device_named_in, table.device_source);
  table.model = context.model;
  table.model_source = "--model";
  if (!table.model) table.model = nearest(text, known_model_named_in, table.model_source);
  for (const std::string& heading : text.headings) table.context += heading + "; ";
  table.context += text.paragraph;
  table.batch = number_behind(table.context, {"batch size", "batch_size", "batch-size", "batch"});
  if (!table.batch) table.batch = number_behind(table.context, {"bs"});
  for (const char* one : {"single request", "single stream", "single-stream", "single user", "single prompt",
                          "one request at a time", "one stream", "one user"}) {
    if (!table.batch && table.context.find(one) != std::string::npos) table.batch = 1;
  }
  find_said(table);
  table.seq = number_behind(table.context, {"context length", "context-length", "sequence length", "seq length",
                                            "seq_len", "seq len", "context"});
}

}  // namespace

std::optional<double> number_behind(const std::string& text, std::initializer_list<std::string_view> words) {
  std::string lower = plain_text(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const std::string_view word : words) {
    const auto at = lower.find(word);
    if (at == std::string::npos) continue;
    const auto digit = lower.find_first_not_of(" :=_*`of", at + word.size());
    double value = 0;
    if (digit == std::string::npos || !std::isdigit(static_cast<unsigned char>(lower[digit]))) continue;
    std::from_chars(&lower[digit], lower.data() + lower.size(), value);
    if (value > 0) return value;
  }
  return std::nullopt;
}

const Measured* Observation::find(Quantity quantity) const {
  const auto found = figures.find(quantity);
  return found == figures.end() ? nullptr : &found->second;
}

std::optional<Range> Observation::absolute(Quantity quantity) const {
  const Measured* measured = find(quantity);
  if (!measured || !measured->is_absolute) return std::nullopt;
  return measured->figure.range;
}

std::vector<std::vector<const Observation*>> PublishedTable::groups() const {
  std::vector<std::vector<const Observation*>> groups;
  std::map<std::string_view, std::size_t> places;
  for (const Observation& row : rows) {
    const auto [place, is_new] = places.emplace(row.group, groups.size());
    if (is_new) groups.emplace_back();
    groups[place->second].push_back(&row);
  }
  return groups;
}

const Observation* baseline_of(const std::vector<const Observation*>& group) {
  const Observation* baseline = nullptr;
  for (const Observation* row : group) {
    if (row->precision.precision != PrecisionName::fp32) continue;
    if (baseline) return nullptr;
    baseline = row;
  }
  return baseline;
}

ColumnMapping parse_mapping(const std::string& text) {
  const auto equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0)
    fail_user("--column {}: NAME=QUANTITY[:unit] is needed, as in 'Zeit=latency:ms'", text);
  const auto colon = text.find(':', equals);
  const std::string word = text.substr(equals + 1, colon == std::string::npos ? colon : colon - equals - 1);
  ColumnMapping mapping;
  mapping.header = text.substr(0, equals);
  const auto quantity = parse_quantity(word);
  if (!quantity) fail_user("--column {}: '{}' is none of {}", text, word, quantity_words());
  mapping.quantity = *quantity;
  if (colon == std::string::npos) return mapping;
  const auto unit = read_unit(text.substr(colon + 1));
  if (!unit)
    fail_user("--column {}: the unit '{}' is not known (ms, s, mJ, J, W, MB, %, x, samples/s, tok/s, ...)", text,
              text.substr(colon + 1));
  mapping.unit = *unit;
  return mapping;
}

namespace {

/// Rules compare rows with rows; nobody publishes more.
constexpr std::size_t most_rows = 5000;

void share_prose(const std::vector<TextLine>& prose, std::vector<PublishedTable>& tables) {
  std::size_t owner = 0;
  for (const TextLine& line : prose) {
    while (owner + 1 < tables.size() && tables[owner + 1].line < line.line) ++owner;
    tables[owner].prose.push_back(line);
  }
}

/// Of a row the one that its own words name; no GPU where they name a CPU.
void name_devices(PublishedTable& table) {
  for (Observation& row : table.rows) {
    const KnownDevice* own = find_known_device(row.device_text);
    if (!own) own = known_device_named_in(row.device_text);
    if (!own) own = known_device_named_in(row.label);
    if (!own) own = known_device_named_in(row.group);
    std::string words = row.device_text;
    for (char& c : words) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    bool is_other = false;
    for (const char* other : {"cpu", "xeon", "epyc", "core i", "ryzen", "apple", "tpu", "mi250", "mi300", "graviton"})
      is_other = is_other || words.find(other) != std::string::npos;
    if (!own && !is_other) own = table.device;
    row.device = own;
  }
}

/// Of a table whose headers or file name the one card that nothing above names.
void name_device_of_headers(const ParsedTable& text, PublishedTable& table) {
  std::string words;
  for (const std::string& header : text.header) words += header + " ";
  if (table.device) return;
  table.device = known_device_named_in(words);
  table.device_source = "the header";
}

/// Of a table that no heading places: the one card that the page or the file's name names.
void name_device_of_page(PublishedTable& table) {
  if (table.device) return;
  std::string words;
  constexpr std::size_t longest = 20000;
  for (const TextLine& line : table.prose) {
    if (words.size() < longest) words += line.text + " ";
  }
  table.device = known_device_named_in(words);
  table.device_source = "the page";
  if (table.device || words.size() > longest) return;
  table.device = known_device_named_in(table.file.substr(table.file.find_last_of('/') + 1));
  table.device_source = "the file's name";
}

}  // namespace

std::vector<PublishedTable> read_tables(const TextDocument& document, const std::string& file,
                                        const TableContext& context) {
  std::vector<PublishedTable> tables;
  for (const ParsedTable& text : document.tables) {
    if (text.rows.size() > most_rows)
      fail_user("{}: line {}: {} rows are a log and no table; give one of {} rows or fewer", file, text.line,
                text.rows.size(), most_rows);
    PublishedTable table;
    table.file = file;
    table.number = static_cast<int>(tables.size()) + 1;
    table.line = text.line;
    table.title = plain_text(text.title);
    find_context(text, context, table);
    name_device_of_headers(text, table);
    lay_out(text, context.columns, table);
    tables.push_back(std::move(table));
  }
  if (!tables.empty()) share_prose(document.prose, tables);
  for (PublishedTable& table : tables) {
    name_device_of_page(table);
    name_devices(table);
  }
  return tables;
}

}  // namespace assay
