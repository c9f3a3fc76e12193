#include <algorithm>
#include <cmath>
#include <set>

#include "published/checks.h"
#include "published/row_figures.h"

namespace assay {
namespace {

/// Rows of data sets whose size is fixed.
struct DataSet {
  std::string_view word;
  double rows;
};
constexpr DataSet data_sets[] = {{"imagenet", 50000}, {"gsm8k", 1319},      {"sst-2", 872},
                                 {"sst2", 872},       {"cifar-10", 10000},  {"cifar10", 10000},
                                 {"mnist", 10000},    {"cifar-100", 10000}, {"hellaswag", 10042}};

/// Of those whose printed score may be a mean over tasks or runs: how much noise it has, not how many were right.
constexpr DataSet averaged_sets[] = {{"mmlu", 14042},   {"arc-c", 1172},    {"arc-e", 2376},     {"winogrande", 1267},
                                     {"piqa", 1838},    {"boolq", 3270},    {"mnli", 9815},      {"qqp", 40430},
                                     {"qnli", 5463},    {"rte", 277},       {"mrpc", 408},       {"squad", 10570},
                                     {"lambada", 5153}, {"humaneval", 164}, {"openbookqa", 500}, {"coco", 5000}};

/// "1,000 images", "872 samples", "n=500".
double rows_said(const std::string& text) {
  for (const std::string_view word : {" images", " samples", " examples", " questions", " sentences", " reviews"}) {
    const auto at = text.find(word);
    if (at == std::string::npos) continue;
    std::size_t from = at;
    while (from > 0 && (std::isdigit(static_cast<unsigned char>(text[from - 1])) != 0 || text[from - 1] == ',')) --from;
    if (const auto figure = read_figure(text.substr(from, at - from)); figure && figure->value >= 10)
      return figure->value;
  }
  for (const std::string_view word : {"n=", "n = "}) {
    const auto at = text.find(word);
    if (at == std::string::npos) continue;
    if (const auto figure = read_figure(text.substr(at + word.size())); figure && figure->value >= 10)
      return figure->value;
  }
  return 0;
}

std::string words_of(const PublishedTable& table, const Measured& accuracy) {
  std::string text = table.context + " " + table.title + " " + accuracy.column + " " + accuracy.row;
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

}  // namespace

double scored_rows(const PublishedTable& table, const Observation& row, const Measured& accuracy) {
  if (const Measured* count = row.find(Quantity::count)) return count->figure.value;
  const std::string text = words_of(table, accuracy);
  if (const double said = rows_said(text); said > 0) return said;
  for (const DataSet& one : data_sets) {
    if (text.find(one.word) != std::string::npos) return one.rows;
  }
  return 0;
}

Range accuracy_share(const Measured& accuracy) {
  const bool is_percent = accuracy.figure.unit.dimension == Dimension::percent;
  return !is_percent && accuracy.figure.value > 1.5 ? scaled(accuracy.figure.range, 0.01) : accuracy.figure.range;
}

namespace {

/// Of a column that only names a precision nobody says which score it holds: accuracy, F1, a correlation.
bool is_any_score(const PublishedTable& table, const Measured& accuracy) {
  return words_of_header(accuracy.header).size() == 1 &&
         read_precision(accuracy.header).precision != PrecisionName::unknown &&
         words_of(table, accuracy).find("accura") == std::string::npos;
}

/// A score that is no share of right answers, or a mean of several.
bool is_averaged(const PublishedTable& table, const Observation& row) {
  if (is_any_score(table, *row.find(Quantity::accuracy))) return true;
  for (const std::string& word : words_of_header(row.find(Quantity::accuracy)->header)) {
    if (word == "f1" || word == "map" || word == "pass") return true;
  }
  return page_says(table, row, {"average", "avg", "macro", "seeds", "balanced", "normalized", "acc_norm", "mean acc"});
}

/// Of one kind: "fp32 top-1" and "int8 top-1".
bool is_same_kind(const Measured& a, const Measured& b) {
  const auto kind_of = [](const Measured& one) {
    std::vector<std::string> words = words_of_header(one.header);
    std::erase_if(words,
                  [](const std::string& word) { return read_precision(word).precision != PrecisionName::unknown; });
    return words;
  };
  return kind_of(a) == kind_of(b) || a.row == b.row;
}

/// Same figure, other precision, as printed.
struct Repeated {
  int rows = 0;
  int digits = 0;
  std::set<int> widths;
  const Measured* first = nullptr;
};

Repeated repeated_of(const std::vector<const Observation*>& group, Quantity quantity, const Measured& wanted) {
  Repeated same;
  std::set<PrecisionName> seen;
  for (const Observation* row : group) {
    const Measured* one = row->find(quantity);
    if (!one || one->figure.value != wanted.figure.value || !is_same_kind(*one, wanted)) continue;
    if (row->precision.precision == PrecisionName::unknown || !seen.insert(row->precision.precision).second) continue;
    ++same.rows;
    same.digits = std::max(same.digits, one->figure.significant);
    same.widths.insert(operand_bits(row->precision.precision));
  }
  return same;
}

/// A figure of quality, and how much noise lets a narrower precision gain.
double gain_of(Quantity quantity, const Measured& wide, const Measured& narrow) {
  if (quantity == Quantity::perplexity) return wide.figure.range.low / narrow.figure.range.high - 1;
  return accuracy_share(narrow).low - accuracy_share(wide).high;
}

double noise_of(const PublishedTable& table, const Observation& row, Quantity quantity, const Measured& wide) {
  if (quantity == Quantity::perplexity) return 0.01;
  double rows = scored_rows(table, row, wide);
  const std::string text = words_of(table, wide);
  for (const DataSet& one : averaged_sets) {
    if (rows == 0 && text.find(one.word) != std::string::npos) rows = one.rows;
  }
  const double share = middle(accuracy_share(wide));
  // Answers to the same rows: the few that change do so both ways.
  return rows > 0                    ? std::max(0.004, 1.5 * std::sqrt(std::max(0.0, share * (1 - share)) / rows))
         : is_any_score(table, wide) ? 0.03
                                     : 0.012;
}

}  // namespace

namespace {

/// The right answers stand in the row, too.
bool test_printed_count(const Observation& row, const Measured& accuracy, double rows, Complaints& say) {
  const Measured* correct = row.find(Quantity::correct);
  if (!correct || rows <= 0 || correct->figure.value > rows) return false;
  say.relation_tested();
  const Range share = scaled(correct->figure.range, 1 / rows);
  if (!may_equal(accuracy_share(accuracy), share, 0.002))
    say.figure(accuracy,
               fmt::format("{} is not {} / {} = {} %.", shown(accuracy), shown(*correct), shown(rows, 6),
                           shown(100 * correct->figure.value / rows, 5)),
               fmt::format("{} / {}", shown(*correct), shown(rows, 6)));
  return true;
}

}  // namespace

void check_accuracy_counts(const PublishedTable& table, Complaints& say) {
  for (const Observation& row : table.rows) {
    const Measured* accuracy = row.find(Quantity::accuracy);
    if (accuracy && test_printed_count(row, *accuracy, scored_rows(table, row, *accuracy), say)) continue;
    if (!accuracy || is_averaged(table, row)) continue;
    const double rows = scored_rows(table, row, *accuracy);
    const Range share = accuracy_share(*accuracy);
    if (rows <= 0 || share.high <= 0 || share.low > 1) continue;
    // The last digit may have been cut off as well as rounded.
    const double width = share.high - share.low;
    const double above = std::floor(rows * (share.high + 0.5 * width) + 1e-9);
    if (above >= rows * (share.low) - 1e-9) continue;
    const double nearest = std::round(rows * middle(share));
    say.figure(*accuracy,
               fmt::format("{} is no whole number of right answers out of {}: the nearest is {} / {} = {} %.",
                           shown(*accuracy), shown(rows, 6), shown(nearest, 6), shown(rows, 6),
                           shown(100 * nearest / rows, 5)),
               fmt::format("{} x {} = {}", shown(*accuracy), shown(rows, 6), shown(rows * middle(share), 6)));
  }
}

void check_same_quality(const PublishedTable& table, Complaints& say) {
  for (const auto& group : table.groups()) {
    for (const Quantity quantity : {Quantity::perplexity, Quantity::accuracy, Quantity::loss}) {
      for (const Observation* row : group) {
        const Measured* own = row->find(quantity);
        if (!own || row != group.front()) continue;
        const Repeated same = repeated_of(group, quantity, *own);
        const double rows = quantity == Quantity::accuracy ? scored_rows(table, *row, *own) : 1e4;
        const bool is_narrow = !same.widths.empty() && *same.widths.begin() <= 8;
        // Eight and four bits err on other rows: where both repeat, hundreds of rows are enough.
        const auto narrow = std::count_if(same.widths.begin(), same.widths.end(), [](int bits) { return bits <= 8; });
        const double enough = narrow >= 2 ? 500 : 2000;
        const bool is_many = same.rows >= 3 && is_narrow && same.widths.size() >= 3;
        if (!is_many || same.digits < 4 || (rows > 0 && rows < enough)) continue;
        say.figure(*own,
                   fmt::format("{} rows of other precisions print {} to all digits: one model was scored under all "
                               "names.",
                               same.rows, shown(*own)),
                   shown(*own));
      }
    }
  }
}

void check_quality_gain(const PublishedTable& table, Complaints& say) {
  for (const auto& group : table.groups()) {
    const Observation* widest = widest_of(group);
    for (const Quantity quantity : {Quantity::perplexity, Quantity::accuracy}) {
      const Measured* wide = widest ? widest->find(quantity) : nullptr;
      for (const Observation* row : group) {
        const Measured* narrow = row->find(quantity);
        const bool is_narrower = stored_bits(row->precision.precision) > 0 && widest &&
                                 stored_bits(row->precision.precision) < stored_bits(widest->precision.precision);
        if (!wide || !narrow || !is_narrower || !is_same_kind(*narrow, *wide) || wide->figure.value <= 0) continue;
        if (gain_of(quantity, *wide, *narrow) <= noise_of(table, *row, quantity, *wide)) continue;
        say.figure(*narrow,
                   fmt::format("{} is better in {} ({}) than in {} ({}), by more than rounding weights does by chance.",
                               name(quantity), row->label, shown(*narrow), widest->label, shown(*wide)),
                   fmt::format("{} against {}", shown(*narrow), shown(*wide)));
      }
    }
  }
}

}  // namespace assay
