#include "published/table_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "published/table_cells.h"
#include "published/table_shape.h"

namespace assay {
namespace {

struct Column {
  std::string header;
  ColumnMeaning meaning;
  std::string span;   ///< What sets it apart from columns of the same quantity: "Batch 1", "H100".
  std::string aside;  ///< The time that it is a percentile of, where that is not the row's own.
};

bool has_any_word(const std::string& header, std::initializer_list<std::string_view> any) {
  const auto words = words_of_header(header);
  return std::find_first_of(words.begin(), words.end(), any.begin(), any.end()) != words.end();
}

/// "Batch 8", "bs=32", "seq 512": a setting whose figures are of something else.
bool is_setting(const Column& column) {
  const Quantity quantity = column.meaning.quantity;
  const auto words = words_of_header(column.header);
  return (quantity == Quantity::batch || quantity == Quantity::seq) && words.size() >= 2 &&
         words.back().find_first_not_of("0123456789k") == std::string::npos;
}

class Layout {
 public:
  Layout(const ShapedTable& shape, const std::vector<ColumnMapping>& mappings, PublishedTable& table)
      : shape_(shape), text_(shape.text), table_(table) {
    columns_.reserve(text_.header.size());
    for (std::size_t i = 0; i < text_.header.size(); ++i)
      columns_.push_back({plain_text(text_.header[i]), meaning_of(text_.header[i], mappings), shape.spans[i], ""});
  }

  void lay_out() {
    settle_words();
    settle_units();
    drop_totals();
    drop_recovery_of_several();
    part_medians();
    name_tails();
    for (const TextRow& row : text_.rows) add_row(row);
    say_columns();
    std::erase_if(table_.rows, [](const Observation& row) { return row.figures.empty(); });
  }

 private:
  bool names_precision_only(const Column& column) const {
    if (column.meaning.precision.precision == PrecisionName::unknown) return false;
    return column.meaning.quantity == Quantity::none || column.meaning.quantity == Quantity::device;
  }

  /// Keys and values of attention: their precision and size are not the weights'.
  static bool is_of_cache(const Column& column) { return has_any_word(column.header, {"kv"}); }

  /// Of gradients and optimizer states likewise: nothing is multiplied in them.
  static bool is_of_states(const Column& column) {
    return has_any_word(column.header, {"grad", "gradient", "gradients", "optimizer", "states", "reduce", "comm",
                                        "communication", "master", "checkpoint"});
  }

  /// "Native", "Natively supported", over yes and no.
  static bool says_native(const Column& column) {
    const auto words = words_of_header(column.header);
    return std::any_of(words.begin(), words.end(), [](const std::string& word) { return word.starts_with("native"); });
  }

  /// What is multiplied, beside what is stored.
  static bool says_compute(const Column& column) {
    return has_any_word(column.header, {"activation", "activations", "acts", "compute", "computation", "accumulate"});
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
        quantity = figures < 0.5 || precisions >= 0.5 ? Quantity::key : Quantity::kv_cache;
        continue;
      }
      if (is_of_states(columns_[i]) && precisions >= 0.5 && figures < 0.5) {
        quantity = Quantity::key;
        continue;
      }
      const bool names_test = has_any_word(columns_[i].header, {"test", "section", "scenario"});
      if (quantity == Quantity::none && figures < 0.5 && names_test) quantity = Quantity::key;
      if (quantity == Quantity::accuracy && figures < 0.5 && precisions >= 0.5) quantity = Quantity::precision;
      if (says_native(columns_[i]) && figures < 0.5 && precisions < 0.3) quantity = Quantity::notes;
      if (says_compute(columns_[i]) && has_precision && precisions >= 0.5) quantity = Quantity::notes;
      if (quantity == Quantity::precision && precisions < 0.3) quantity = Quantity::key;
      if (holds_words(quantity) && !has_precision && precisions >= 0.5 && figures < 0.5) quantity = Quantity::precision;
      has_precision = has_precision || quantity == Quantity::precision;
      if (quantity == Quantity::size && figures < 0.5) quantity = Quantity::model;
      if (i == 0 && quantity == Quantity::none && figures < 0.5) quantity = Quantity::model;
      if (names_precision_only(columns_[i]) && quantity == Quantity::none) quantity = quantity_of_precision(i);
      if (!is_setting(columns_[i]) || figures < 0.5 || i == 0) continue;
      columns_[i].span = columns_[i].header;
      const ColumnMeaning& before = columns_[i - 1].meaning;
      quantity = said_quantity() != Quantity::none ? said_quantity() : before.quantity;
      columns_[i].meaning.unit = said_quantity() != Quantity::none ? said_.unit : before.unit;
    }
  }

  /// The unit that most figures of a column carry, and how large a share of them does.
  std::pair<Dimension, double> unit_of_cells(std::size_t column) const {
    std::map<Dimension, int> counts;
    int figures = 0;
    for (const TextRow& row : text_.rows) {
      const auto figure = read_figure(cell_of(row, column));
      if (!figure) continue;
      ++figures;
      ++counts[figure->unit.dimension];
    }
    const auto most = std::max_element(counts.begin(), counts.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most == counts.end()) return {Dimension::none, 0};
    return {most->first, static_cast<double>(most->second) / figures};
  }

  /// Where the header says another quantity than the units of the cells, or none, the cells are right.
  void settle_units() {
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      Quantity& quantity = columns_[i].meaning.quantity;
      const auto [dimension, share] = unit_of_cells(i);
      const bool is_label = holds_words(quantity) && quantity != Quantity::none;
      const bool is_counted = quantity != Quantity::none && dimension_of(quantity) == Dimension::none;
      const bool is_other = has_any_word(
          columns_[i].header, {"load", "compile", "compilation", "startup", "warmup", "build", "cold", "calibration",
                               "download", "bus", "limit", "p90", "p95", "p99", "first", "max", "min"});
      // "vs. baseline" over per cents and factors.
      if (share >= 0.6 && quantity == Quantity::none &&
          has_any_word(columns_[i].header, {"vs", "baseline", "relative", "gain"}))
        quantity = dimension == Dimension::percent ? Quantity::change
                   : dimension == Dimension::ratio ? Quantity::speedup
                                                   : Quantity::none;
      if (share < 0.6 || is_label || is_counted || is_other || usual_quantity(dimension) == Quantity::none) continue;
      if (quantity != Quantity::none && dimension_of(quantity) == dimension) continue;
      quantity = usual_quantity(dimension);
      columns_[i].meaning.unit = {};
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
    const auto precision = std::find_if(columns_.begin() + 1, columns_.end(), [](const Column& one) {
      return one.meaning.precision.precision != PrecisionName::unknown;
    });
    const auto is_near = [&](const TextRow& row) {
      const auto own = read_figure(cell_of(row, column));
      const auto first = read_figure(cell_of(row, static_cast<std::size_t>(precision - columns_.begin())));
      return is_score(own) && is_score(first) && std::abs(own->value - first->value) <= 15;
    };
    const double tasks_named =
        share_of(text_, 0, [](const std::string& plain) { return read_column(plain).quantity == Quantity::accuracy; });
    const Quantity titled = read_column(table_.title).quantity;
    const bool is_free = titled == Quantity::none || titled == Quantity::accuracy || titled == Quantity::recovery;
    return (is_of_tasks || tasks_named >= 0.5) && is_free && std::all_of(text_.rows.begin(), text_.rows.end(), is_near);
  }

  /// "| Model | FP32 | BF16 |" holds what its cells' units, or the words above the table, say.
  Quantity quantity_of_precision(std::size_t column) {
    for (const TextRow& row : text_.rows) {
      const auto figure = read_figure(cell_of(row, column));
      if (!figure || figure->unit.dimension == Dimension::none) continue;
      return figure->unit.dimension == Dimension::time     ? Quantity::latency
             : figure->unit.dimension == Dimension::energy ? Quantity::energy
                                                           : Quantity::none;
    }
    if (columns_[column].meaning.unit.dimension == Dimension::time) return Quantity::latency;
    if (holds_scores(column)) return Quantity::accuracy;
    columns_[column].meaning.unit = said_quantity() == Quantity::none ? Unit{} : said_.unit;
    return said_quantity();
  }

  /// What the heading, or a part of the paragraph, says that all figures are: "Latency in ms, mean of 100 runs".
  Quantity said_quantity() {
    for (const std::string& text : {table_.title, text_.paragraph}) {
      for (const char* ends : {",.;:", ",.;:()"}) {
        for (std::size_t from = 0; from < text.size();) {
          const std::size_t to = std::min(text.find_first_of(ends, from), text.size());
          if (says_all(text.substr(from, to - from))) return said_.quantity;
          from = to + 1;
        }
      }
    }
    return Quantity::none;
  }

  bool says_all(const std::string& words) {
    constexpr Quantity any[] = {Quantity::throughput, Quantity::perplexity, Quantity::tokens_per_s, Quantity::tpot,
                                Quantity::rate,       Quantity::memory,     Quantity::energy,       Quantity::power};
    said_ = read_column(words);
    const bool is_one =
        is_duration(said_.quantity) || std::find(std::begin(any), std::end(any), said_.quantity) != std::end(any);
    constexpr std::size_t longest = 8;
    return is_one && words_of_header(words).size() <= longest;
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

  /// What is kept of an average says nothing of the one score that a row is read with.
  void drop_recovery_of_several() {
    const auto is_score = [](const Column& column) {
      return column.meaning.quantity == Quantity::accuracy &&
             column.meaning.precision.precision == PrecisionName::unknown;
    };
    if (std::count_if(columns_.begin(), columns_.end(), is_score) < 2) return;
    for (Column& column : columns_) {
      if (column.meaning.quantity == Quantity::recovery) column.meaning.quantity = Quantity::none;
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

  /// "TTFT p90", "TTFT p99": percentiles of another time than the row's own stand aside.
  void name_tails() {
    constexpr std::pair<std::string_view, Quantity> tails[] = {{"median", Quantity::median},
                                                               {"p50", Quantity::median},
                                                               {"p90", Quantity::p90},
                                                               {"p95", Quantity::p95},
                                                               {"p99", Quantity::p99}};
    for (Column& column : columns_) {
      const auto words = words_of_header(column.header);
      for (const auto& [word, quantity] : tails) {
        const auto tail = std::find(words.begin(), words.end(), word);
        if (tail == words.end()) continue;
        std::string rest;
        for (auto one = words.begin(); one != words.end(); ++one) rest += one == tail ? "" : *one + " ";
        const Quantity time = read_column(rest).quantity;
        if (time != Quantity::ttft && time != Quantity::tpot) continue;
        column.aside = name(time);
        column.meaning.quantity = quantity;
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
          base.notes = says_native(columns_[i])    ? "native = " + plain
                       : says_compute(columns_[i]) ? "computes in " + plain
                                                   : plain;
          break;
        case Quantity::key:
          if (columns_[i].header == "section" && base.precision.precision == PrecisionName::unknown)
            base.precision = read_precision(plain);
          [[fallthrough]];
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
        base.figures.emplace(Quantity::seq, Measured{*tokens, true, base.model_text, "model", "model"});
      text.erase(seq);
    }
    base.model = find_known_model(text, table_.context);
    if (!base.model) base.model = known_model_named_in(text);
  }

  /// One observation for the row, and one more for each precision or span that columns of their own have.
  void spread_over_columns(const TextRow& row, const Observation& base, const std::string& row_name) {
    Variants wide;
    Observation own = base;
    Variants more;  // A quantity that a row has twice: the second stands alone.
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const Column& column = columns_[i];
      if (holds_words(column.meaning.quantity)) continue;
      const auto figure = read_figure(cell_of(row, i));
      if (!figure) continue;
      Measured measured = {*figure, false, row_name, column.header, column.header};
      if (shape_.is_turned) std::swap(measured.row, measured.column);
      const bool is_set_apart = column.meaning.precision.precision != PrecisionName::unknown || !column.span.empty();
      Observation* into = is_set_apart ? &variant(wide, base, column.meaning.precision, column.span) : &own;
      if (!column.aside.empty() || into->find(column.meaning.quantity)) {
        Observation second = *into;
        second.figures = base.figures;
        into = &variant(more, second, {}, column.aside.empty() ? column.header : column.aside);
        // "RTN 4-bit", "GPTQ 4-bit": two methods of one precision stand beside the same others.
        if (names_method(column)) into->group = base.group;
      }
      put(*into, column.meaning.quantity, column.meaning.unit, measured);
    }
    adopt_shared(own, wide);
    for (auto& [key, one] : more) {
      for (const auto& [quantity, measured] : own.figures) {
        if (dimension_of(quantity) == Dimension::none) one.figures.emplace(quantity, measured);
      }
    }
    if (wide.empty()) {
      name_by_bits(own);
      table_.rows.push_back(std::move(own));
    }
    for (Variants* all : {&wide, &more}) {
      for (auto& one : *all) table_.rows.push_back(std::move(one.second));
    }
  }

  static bool names_method(const Column& column) {
    if (column.meaning.precision.precision == PrecisionName::unknown || !column.aside.empty()) return false;
    if (has_any_word(column.header, {"batch", "bs", "seq", "ctx", "context", "length", "tokens"})) return false;
    const auto words = words_of_header(column.header);
    return std::all_of(words.begin(), words.end(), [](const std::string& word) {
      const bool is_number = word.find_first_not_of("0123456789") == std::string::npos;
      return !is_number || word == "16" || word == "32" || (word.size() == 1 && word != "1");
    });
  }

  /// "| bits | 16 | 4 |": the usual precision of that width, where none is named.
  static void name_by_bits(Observation& row) {
    const auto bits = row.figures.find(Quantity::bits);
    if (bits == row.figures.end() || row.precision.precision != PrecisionName::unknown) return;
    for (const PrecisionName usual :
         {PrecisionName::fp32, PrecisionName::fp16, PrecisionName::int8, PrecisionName::int6, PrecisionName::int5,
          PrecisionName::int4, PrecisionName::int3, PrecisionName::int2}) {
      if (bits->second.figure.value == stored_bits(usual)) row.precision.precision = usual;
    }
  }

  /// By the words that set them apart.
  using Variants = std::vector<std::pair<std::string, Observation>>;

  Observation& variant(Variants& all, const Observation& base, PrecisionWords precision,
                       const std::string& span) const {
    if (precision.precision == PrecisionName::unknown) precision = read_precision(span);
    const std::string key = std::string(name(precision.precision)) + "|" + span;
    for (auto& one : all) {
      if (one.first == key) return one.second;
    }
    Observation one = base;
    if (precision.precision != PrecisionName::unknown) {
      one.precision = precision;
      one.label = base.label + " " + name(precision.precision);
    }
    if (!span.empty()) {
      const bool is_precision_alone = is_precision_word(span) && words_of_header(span).size() == 1;
      if (!is_precision_alone) one.group += "|" + span;
      one.label += " " + span;
      if (known_device_named_in(span)) one.device_text = span;
      if (const auto batch = number_behind(span, {"batch size", "batch", "bs"}))
        one.figures.emplace(Quantity::batch, Measured{*read_figure(fmt::format("{}", *batch)), true, span, span, span});
    }
    all.emplace_back(key, std::move(one));
    return all.back().second;
  }

  /// Parameters, batch and length hold for all precisions of the row; a speed-up for the one beside fp32.
  static void adopt_shared(const Observation& own, Variants& wide) {
    for (const auto& [quantity, measured] : own.figures) {
      const bool compares = dimension_of(quantity) == Dimension::ratio && quantity != Quantity::change;
      for (auto& [key, one] : wide) {
        const Observation& other = &one == &wide.front().second ? wide.back().second : wide.front().second;
        const bool is_compared =
            wide.size() == 2 && operand_bits(one.precision.precision) <= operand_bits(other.precision.precision);
        if (!compares || is_compared) one.figures.emplace(quantity, measured);
      }
    }
  }

  const ShapedTable& shape_;
  const ParsedTable& text_;
  PublishedTable& table_;
  std::vector<Column> columns_;
  ColumnMeaning said_;
};

}  // namespace

void lay_out(const ParsedTable& text, const std::vector<ColumnMapping>& mappings, PublishedTable& table) {
  const ShapedTable shape = shaped(text);
  Layout(shape, mappings, table).lay_out();
}

}  // namespace assay
