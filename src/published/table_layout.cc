#include "published/table_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "published/table_cells.h"

namespace assay {
namespace {

struct Column {
  std::string header;
  ColumnMeaning meaning;
};

class Layout {
 public:
  Layout(const ParsedTable& text, const std::vector<ColumnMapping>& mappings, PublishedTable& table)
      : text_(text), table_(table) {
    for (const std::string& header : text.header)
      columns_.push_back({plain_text(header), meaning_of(header, mappings)});
  }

  void lay_out() {
    if (is_transposed()) {
      transpose();
    } else {
      settle_words();
      drop_totals();
      part_medians();
      name_tails();
      for (const TextRow& row : text_.rows) add_row(row);
      say_columns();
    }
    std::erase_if(table_.rows, [](const Observation& row) { return row.figures.empty(); });
  }

 private:
  bool names_precision_only(const Column& column) const {
    if (column.meaning.precision.precision == PrecisionName::unknown) return false;
    return column.meaning.quantity == Quantity::none || column.meaning.quantity == Quantity::device;
  }

  /// Precisions side by side over rows of quantities.
  bool is_transposed() const {
    const auto precisions = std::count_if(columns_.begin() + (columns_.empty() ? 0 : 1), columns_.end(),
                                          [&](const Column& column) { return names_precision_only(column); });
    if (precisions < 1) return false;
    const double quantities = share_of(text_, 0, [](const std::string& plain) {
      const Quantity quantity = read_column(plain).quantity;
      return quantity != Quantity::none && (!holds_words(quantity) || quantity == Quantity::device);
    });
    return quantities >= 0.3 && !columns_.empty() && columns_[0].meaning.quantity != Quantity::model;
  }

  void transpose() {
    std::vector<Observation> observations(columns_.size());
    for (std::size_t i = 1; i < columns_.size(); ++i) {
      observations[i].line = text_.line;
      observations[i].label = columns_[i].header;
      observations[i].precision = columns_[i].meaning.precision;
    }
    for (const TextRow& row : text_.rows) {
      if (row.is_struck) {
        ++table_.struck_rows;
        continue;
      }
      read_across(row, observations);
    }
    for (std::size_t i = 1; i < columns_.size(); ++i) {
      if (names_precision_only(columns_[i])) table_.rows.push_back(std::move(observations[i]));
    }
  }

  void read_across(const TextRow& row, std::vector<Observation>& observations) {
    const std::string head = plain_text(cell_of(row, 0));
    const ColumnMeaning meaning = read_column(head);
    if (meaning.quantity == Quantity::none) {
      if (!head.empty()) table_.unrecognised.push_back(head);
      return;
    }
    table_.columns.push_back(fmt::format("{}: {}", head, name(meaning.quantity)));
    for (std::size_t i = 1; i < columns_.size(); ++i) {
      if (meaning.quantity == Quantity::device) observations[i].device_text = plain_text(cell_of(row, i));
      if (meaning.quantity == Quantity::notes) observations[i].notes = plain_text(cell_of(row, i));
      if (holds_words(meaning.quantity)) continue;
      if (const auto figure = read_figure(cell_of(row, i)))
        put(observations[i], meaning.quantity, meaning.unit, {*figure, false, head, columns_[i].header});
    }
  }

  /// Keys and values of attention: their precision and size are not the weights'.
  static bool is_of_cache(const Column& column) {
    const auto words = words_of_header(column.header);
    return std::find(words.begin(), words.end(), "kv") != words.end();
  }

  /// "Native", "Natively supported", over yes and no.
  static bool says_native(const Column& column) {
    const auto words = words_of_header(column.header);
    return std::any_of(words.begin(), words.end(), [](const std::string& word) { return word.starts_with("native"); });
  }

  /// Headers that could mean two things are settled by what stands below them.
  void settle_words() {
    bool has_precision = false;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      Quantity& quantity = columns_[i].meaning.quantity;
      const double precisions = share_of(text_, i, is_precision_word);
      const double figures =
          share_of(text_, i, [](const std::string& plain) { return read_figure(plain).has_value(); });
      if (is_of_cache(columns_[i])) {
        quantity = figures < 0.5 || precisions >= 0.5 ? Quantity::key : Quantity::none;
        continue;
      }
      if (quantity == Quantity::none && figures < 0.5 && words_of_header(columns_[i].header).front() == "test")
        quantity = Quantity::key;
      if (says_native(columns_[i]) && figures < 0.5 && precisions < 0.3) quantity = Quantity::notes;
      if (quantity == Quantity::precision && precisions < 0.3) quantity = Quantity::key;
      if (holds_words(quantity) && !has_precision && precisions >= 0.5 && figures < 0.5) quantity = Quantity::precision;
      has_precision = has_precision || quantity == Quantity::precision;
      if (quantity == Quantity::size && figures < 0.5) quantity = Quantity::model;
      if (i == 0 && quantity == Quantity::none && figures < 0.5) quantity = Quantity::model;
      if (names_precision_only(columns_[i]) && quantity == Quantity::none) quantity = quantity_of_precision(i);
    }
  }

  /// "| Task | FP32 | INT8 |": scores of 0 to 100 that differ little from precision to precision.
  bool holds_scores(std::size_t column) const {
    const auto words = words_of_header(columns_[0].header);
    constexpr std::string_view tasks[] = {"task", "tasks", "dataset", "benchmark"};
    const bool is_of_tasks =
        std::find_first_of(words.begin(), words.end(), std::begin(tasks), std::end(tasks)) != words.end();
    const auto is_score = [](const std::optional<PrintedFigure>& figure) {
      return figure && figure->value > 0 && figure->value <= 100 &&
             (figure->unit.dimension == Dimension::none || figure->unit.dimension == Dimension::percent);
    };
    const auto is_near = [&](const TextRow& row) {
      const auto own = read_figure(cell_of(row, column));
      const auto first = read_figure(cell_of(row, 1));
      return is_score(own) && is_score(first) && std::abs(own->value - first->value) <= 15;
    };
    return is_of_tasks && read_column(table_.title).quantity == Quantity::none &&
           std::all_of(text_.rows.begin(), text_.rows.end(), is_near);
  }

  /// "| Model | FP32 | BF16 |" holds what its cells' units, or the words above the table, say.
  Quantity quantity_of_precision(std::size_t column) const {
    for (const TextRow& row : text_.rows) {
      const auto figure = read_figure(cell_of(row, column));
      if (!figure || figure->unit.dimension == Dimension::none) continue;
      return figure->unit.dimension == Dimension::time     ? Quantity::latency
             : figure->unit.dimension == Dimension::energy ? Quantity::energy
                                                           : Quantity::none;
    }
    if (columns_[column].meaning.unit.dimension == Dimension::time) return Quantity::latency;
    if (holds_scores(column)) return Quantity::accuracy;
    const Quantity said = read_column(table_.title).quantity;
    return is_duration(said) || said == Quantity::throughput || said == Quantity::perplexity ? said : Quantity::none;
  }

  /// "energy_j" beside "energy_per_sample_mj" is of the whole run.
  void drop_totals() {
    const auto is_energy = [](const Column& column) { return column.meaning.quantity == Quantity::energy; };
    const auto is_per_item = [&](const Column& column) {
      return is_energy(column) &&
             (column.header.find("per") != std::string::npos || column.header.find('/') != std::string::npos);
    };
    if (std::none_of(columns_.begin(), columns_.end(), is_per_item)) return;
    for (Column& column : columns_) {
      if (is_energy(column) && !is_per_item(column)) column.meaning.quantity = Quantity::none;
    }
  }

  /// A median beside a mean.
  void part_medians() {
    const auto is_median = [](const Column& column) {
      const auto words = words_of_header(column.header);
      return std::any_of(words.begin(), words.end(),
                         [](const auto& word) { return word == "median" || word == "p50"; });
    };
    const auto is_mean = [&](const Column& column) {
      return column.meaning.quantity == Quantity::latency && !is_median(column);
    };
    if (std::none_of(columns_.begin(), columns_.end(), is_mean)) return;
    for (Column& column : columns_) {
      if (column.meaning.quantity == Quantity::latency && is_median(column)) column.meaning.quantity = Quantity::median;
    }
  }

  /// "TTFT p90", "TTFT p99": percentiles of one time, where the table has no other time or percentile.
  void name_tails() {
    constexpr std::pair<std::string_view, Quantity> tails[] = {
        {"p90", Quantity::p90}, {"p95", Quantity::p95}, {"p99", Quantity::p99}};
    const auto has_own = [](const Column& column) {
      const Quantity quantity = column.meaning.quantity;
      return is_duration(quantity) || quantity == Quantity::median || quantity == Quantity::tpot ||
             quantity == Quantity::p90 || quantity == Quantity::p95 || quantity == Quantity::p99;
    };
    if (std::any_of(columns_.begin(), columns_.end(), has_own)) return;
    for (Column& column : columns_) {
      const auto words = words_of_header(column.header);
      if (column.meaning.quantity != Quantity::none || words.empty() || words[0] != "ttft") continue;
      for (const auto& [word, quantity] : tails) {
        if (std::find(words.begin(), words.end(), word) != words.end()) column.meaning.quantity = quantity;
      }
    }
  }

  void say_columns() {
    for (const Column& column : columns_) {
      if (column.meaning.quantity == Quantity::none) {
        if (!column.header.empty()) table_.unrecognised.push_back(column.header);
      } else {
        table_.columns.push_back(fmt::format("{}: {}", column.header, name(column.meaning.quantity)));
      }
    }
  }

  /// Words that tell a row from others, and the labels of the row itself.
  void read_words(const TextRow& row, Observation& base) const {
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const std::string plain = plain_text(cell_of(row, i));
      switch (columns_[i].meaning.quantity) {
        case Quantity::precision:
          base.precision = read_precision(plain);
          base.label = plain;
          break;
        case Quantity::model:
          base.model_text += (base.model_text.empty() ? "" : " ") + plain;
          break;
        case Quantity::device:
          base.device_text = plain;
          break;
        case Quantity::notes:
          base.notes = says_native(columns_[i]) ? "native = " + plain : plain;
          break;
        case Quantity::key:
        case Quantity::batch:
        case Quantity::seq:
        case Quantity::layers:
        case Quantity::width:
          base.group += "|" + plain;
          break;
        default:
          break;
      }
    }
  }

  /// A model's cell may name a precision too: "DistilBERT FP16"; what is left names the model.
  static std::string model_key(const Observation& base) {
    std::string key;
    std::string word;
    for (const char c : base.model_text + " ") {
      if (c != ' ') {
        word += c;
        continue;
      }
      const bool is_precision = read_precision(word).precision != PrecisionName::unknown;
      if (!is_precision && !word.empty()) key += word + " ";
      word.clear();
    }
    return key;
  }

  void add_row(const TextRow& row) {
    if (row.is_struck) {
      ++table_.struck_rows;
      return;
    }
    Observation base;
    base.line = row.line;
    read_words(row, base);
    const bool has_own = base.precision.precision != PrecisionName::unknown;
    if (!has_own) base.precision = read_precision(base.model_text);
    base.group = (has_own ? base.model_text : model_key(base)) + base.group;
    read_model(base);
    spread_over_columns(row, base, name_row(row, base));
  }

  /// The first cell, and the precision where that is another; where the first is no label (a date), the precision
  /// alone.
  std::string name_row(const TextRow& row, Observation& base) const {
    const std::string first = plain_text(cell_of(row, 0));
    if (base.label.empty()) base.label = first;
    const bool is_label = columns_[0].meaning.quantity != Quantity::none && !first.empty();
    if (!is_label || first == base.label) return is_label ? first : base.label;
    return first + ", " + base.label;
  }

  /// "large_seq512" names a size and a length.
  void read_model(Observation& base) const {
    std::string text = base.model_text;
    const auto seq = text.find("_seq");
    if (seq != std::string::npos) {
      if (const auto tokens = read_figure(text.substr(seq + 4)))
        base.figures.emplace(Quantity::seq, Measured{*tokens, true, base.model_text, "model"});
      text.erase(seq);
    }
    base.model = find_known_model(text, table_.context);
    if (!base.model) base.model = known_model_named_in(text);
  }

  /// One observation for the row, and one more for each precision that columns of their own name.
  void spread_over_columns(const TextRow& row, const Observation& base, const std::string& row_name) {
    std::vector<Observation> wide;
    Observation own = base;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const ColumnMeaning& meaning = columns_[i].meaning;
      if (holds_words(meaning.quantity)) continue;
      const auto figure = read_figure(cell_of(row, i));
      if (!figure) continue;
      const Measured measured = {*figure, false, row_name, columns_[i].header};
      const bool has_precision = meaning.precision.precision != PrecisionName::unknown;
      put(has_precision ? of_precision(wide, base, meaning.precision) : own, meaning.quantity, meaning.unit, measured);
    }
    if (wide.empty()) {
      name_by_bits(own);
      table_.rows.push_back(std::move(own));
      return;
    }
    adopt_shared(own, wide);
    for (Observation& one : wide) table_.rows.push_back(std::move(one));
  }

  /// "| bits | 16 | 4 |": the usual precision of that width, where none is named.
  static void name_by_bits(Observation& row) {
    const auto bits = row.figures.find(Quantity::bits);
    if (bits == row.figures.end() || row.precision.precision != PrecisionName::unknown) return;
    for (const PrecisionName usual :
         {PrecisionName::fp32, PrecisionName::fp16, PrecisionName::int8, PrecisionName::int4}) {
      if (bits->second.figure.value == stored_bits(usual)) row.precision.precision = usual;
    }
  }

  static Observation& of_precision(std::vector<Observation>& wide, const Observation& base, PrecisionWords precision) {
    for (Observation& one : wide) {
      if (one.precision.precision == precision.precision) return one;
    }
    wide.push_back(base);
    wide.back().precision = precision;
    wide.back().label = base.label + " " + name(precision.precision);
    return wide.back();
  }

  /// Parameters, batch and length hold for all precisions of the row; a speed-up for the one beside fp32.
  static void adopt_shared(const Observation& own, std::vector<Observation>& wide) {
    for (const auto& [quantity, measured] : own.figures) {
      const bool compares =
          quantity == Quantity::speedup || quantity == Quantity::energy_ratio || quantity == Quantity::size_ratio;
      for (Observation& one : wide) {
        const bool is_compared = wide.size() == 2 && one.precision.precision != PrecisionName::fp32;
        if (!compares || is_compared) one.figures.emplace(quantity, measured);
      }
    }
  }

  const ParsedTable& text_;
  PublishedTable& table_;
  std::vector<Column> columns_;
};

}  // namespace

void lay_out(const ParsedTable& text, const std::vector<ColumnMapping>& mappings, PublishedTable& table) {
  Layout(text, mappings, table).lay_out();
}

}  // namespace assay
