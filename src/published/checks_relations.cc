#include <algorithm>
#include <array>
#include <cmath>

#include "published/checks.h"
#include "published/row_figures.h"

namespace assay {
namespace {

/// whole = scale * product of factors to their powers. Any of them follows from the others.
struct Factor {
  Quantity quantity = Quantity::none;
  int power = 0;
};
struct Relation {
  const char* rule;
  Quantity whole;
  double scale;
  std::array<Factor, 3> factors;
  double slack;  ///< What means over other windows may be off.
  const char* words;
};

constexpr Factor over(Quantity quantity) {
  return {quantity, -1};
}
constexpr Factor times(Quantity quantity) {
  return {quantity, 1};
}

using Q = Quantity;

constexpr Relation relations[] = {
    {"token_rate", Q::tokens_per_s, 1e3, {times(Q::batch), over(Q::tpot)}, 0.15, "batch / time between tokens"},
    {"token_rate",
     Q::tokens_per_s,
     1e3,
     {times(Q::batch), times(Q::output), over(Q::latency)},
     0.15,
     "batch x generated tokens / latency"},
    {"token_energy", Q::token_energy, 1, {over(Q::tokens_per_joule)}, 0.03, "1 / tokens a joule"},
    {"token_energy",
     Q::power,
     1,
     {times(Q::token_energy), times(Q::tokens_per_s)},
     0.15,
     "energy of a token x tokens a second"},
    {"item_energy", Q::power, 1, {times(Q::energy), times(Q::throughput)}, 0.2, "energy of an item x items a second"},
    {"item_energy", Q::throughput, 1, {times(Q::items_per_joule), times(Q::power)}, 0.15, "items a joule x power"},
};

/// A relation that holds up to counts which nobody needs to state: of what is a rate, an energy, a time? All rows of a
/// table answer alike.
struct CountedRelation {
  const char* rule;
  Quantity whole;
  double scale;
  std::array<Factor, 3> factors;
  std::array<Factor, 5> counts;  ///< Any of them may belong to it.
  const char* words;
  bool has_unit = true;  ///< false: of figures that are printed without one.
};

constexpr CountedRelation counted_relations[] = {
    {"throughput",
     Q::throughput,
     1e3,
     {over(Q::latency)},
     {times(Q::batch), times(Q::devices), times(Q::count)},
     "items over latency"},
    {"throughput",
     Q::throughput,
     1e3,
     {over(Q::step)},
     {times(Q::batch), times(Q::devices), times(Q::count)},
     "items over step time"},
    {"throughput",
     Q::throughput,
     1e3,
     {over(Q::latency)},
     {times(Q::batch), times(Q::output), times(Q::seq), times(Q::devices)},
     "items or tokens over latency",
     false},
    {"throughput",
     Q::throughput,
     1e3,
     {over(Q::step)},
     {times(Q::batch), times(Q::seq), times(Q::devices)},
     "items or tokens over step time",
     false},
    {"token_rate",
     Q::tokens_per_s,
     1e3,
     {over(Q::latency)},
     {times(Q::seq), times(Q::batch), times(Q::devices), times(Q::output)},
     "batch x length / latency"},
    {"token_rate",
     Q::tokens_per_s,
     1e3,
     {over(Q::step)},
     {times(Q::seq), times(Q::batch), times(Q::devices)},
     "batch x length / step"},
    {"energy_and_power",
     Q::energy,
     1e-3,
     {times(Q::power), times(Q::latency)},
     {over(Q::batch), times(Q::devices), times(Q::runs), times(Q::count)},
     "power times latency"},
    {"energy_and_power",
     Q::run_energy,
     1e-3,
     {times(Q::power), times(Q::latency)},
     {times(Q::devices), times(Q::runs), times(Q::count)},
     "power times duration"},
    {"energy_and_power",
     Q::energy,
     1e-3,
     {times(Q::power), times(Q::step)},
     {over(Q::batch), times(Q::devices)},
     "power times step"},
};

Range to_power(Range range, int power) {
  return power > 0 ? range : Range{1 / range.high, 1 / range.low};
}

/// Of the relation's right side, without the factor at `left_out`; none where one of them is not known.
struct Product {
  Range range;
  std::string words;
};

template <typename AnyRelation>
std::optional<Product> product_of(const AnyRelation& relation, const RowFigures& row, Quantity left_out) {
  Product product = {exactly(relation.scale), ""};
  for (const Factor& factor : relation.factors) {
    if (factor.power == 0 || factor.quantity == left_out) continue;
    const KnownFigure* known = row.find(factor.quantity);
    if (!known) return std::nullopt;
    product.range = product.range * to_power(known->range, factor.power);
    const char* sign = product.words.empty() ? (factor.power > 0 ? "" : "1 / ") : (factor.power > 0 ? " x " : " / ");
    product.words += sign + known->words;
  }
  return product;
}

/// What the one member that is not known must be.
bool derive(const Relation& relation, RowFigures& row) {
  const auto right = product_of(relation, row, Quantity::none);
  if (right && !row.find(relation.whole)) {
    row.add(relation.whole, {right->range, right->words + " = " + shown(right->range), nullptr});
    return true;
  }
  const KnownFigure* whole = row.find(relation.whole);
  for (const Factor& factor : relation.factors) {
    // A batch that nobody states may be anything: it would only hide what it followed from.
    if (factor.power == 0 || factor.quantity == Quantity::batch || row.find(factor.quantity) || !whole) continue;
    const auto rest = product_of(relation, row, factor.quantity);
    if (!rest) return false;
    const Range value = to_power(whole->range / rest->range, factor.power);
    row.add(factor.quantity, {value, shown(value), nullptr});
    return true;
  }
  return false;
}

/// "a factor of 1,000 apart: a unit is wrong".
std::string unit_fault(double off) {
  struct Slip {
    double factor;
    const char* words;
  };
  constexpr Slip slips[] = {{1000, "1,000"}, {1024, "1,024"}, {60, "60"}, {3600, "3,600"}};
  for (const Slip& slip : slips) {
    if (std::abs(off / slip.factor - 1) < 0.02 || std::abs(off * slip.factor - 1) < 0.02)
      return fmt::format(": a factor of {}, a wrong unit", slip.words);
  }
  return "";
}

void test_relation(const Relation& relation, const RowFigures& row, const Observation& about, Complaints& say) {
  const KnownFigure* whole = row.find(relation.whole);
  const auto right = product_of(relation, row, Quantity::none);
  if (!whole || !right) return;
  say.relation_tested();
  if (may_equal(whole->range, right->range, relation.slack)) return;
  const double off = middle(whole->range) / middle(right->range);
  const std::string sentence =
      fmt::format("{} is not {}, which gives {} {}{}.", whole->words, relation.words, shown(right->range),
                  unit_name({dimension_of(relation.whole), 1}), unit_fault(off));
  const std::string figures =
      fmt::format("{} = {}, the table says {}", right->words, shown(right->range), whole->words);
  // A rate below what its streams could give waited for prompts and for other streams; above it is none.
  const bool may_wait = relation.whole == Quantity::tokens_per_s && off > 0.2;
  const Severity severity = off > 1.3 || (off < 0.77 && !may_wait) ? Severity::high : Severity::medium;
  if (whole->printed) {
    say.figure(*whole->printed, sentence, figures, severity);
  } else {
    say.row(about, sentence, figures, severity);
  }
}

}  // namespace

RowFigures figures_of(const PublishedTable& table, const Observation& row) {
  RowFigures figures(table, row);
  bool is_more = true;
  while (is_more) {
    is_more = false;
    for (const Relation& relation : relations) is_more = derive(relation, figures) || is_more;
  }
  return figures;
}

namespace {

/// One row of a counted relation: what it prints over what follows, and the counts that it knows.
struct Instance {
  const Observation* row;
  const Measured* whole;
  Range ratio;
  std::array<double, 5> counts;  ///< To their powers; 0: not known.
  std::string words;
  std::optional<double> batch;
};

using Reading = unsigned;  ///< A bit for each count that belongs to the relation.

std::optional<double> count_of(const PublishedTable& table, const Observation& row, Quantity quantity) {
  if (quantity == Q::batch) return batch_of(table, row);
  if (quantity == Q::devices) return devices_of(table, row);
  if (const Measured* printed = row.find(quantity)) return printed->figure.value;
  return quantity == Q::seq ? table.seq : std::nullopt;
}

std::optional<Instance> instance_of(const CountedRelation& relation, const PublishedTable& table,
                                    const Observation& row) {
  const Measured* whole = row.find(relation.whole);
  if (!whole || whole->is_absolute != relation.has_unit || whole->figure.range.low <= 0) return std::nullopt;
  const auto product = product_of(relation, RowFigures(table, row), Q::none);
  if (!product || product->range.low <= 0) return std::nullopt;
  Instance one = {&row, whole, whole->figure.range / product->range, {}, product->words, batch_of(table, row)};
  for (std::size_t i = 0; i < relation.counts.size(); ++i) {
    const Factor& factor = relation.counts[i];
    const auto value = factor.power != 0 ? count_of(table, row, factor.quantity) : std::nullopt;
    if (value && *value > 0) one.counts[i] = factor.power > 0 ? *value : 1 / *value;
  }
  return one;
}

/// The ratio that a reading expects of a row; none where it needs a count that is not known.
std::optional<double> expected(const Instance& one, Reading reading) {
  double product = 1;
  for (std::size_t i = 0; i < one.counts.size(); ++i) {
    if ((reading >> i & 1) == 0) continue;
    if (one.counts[i] == 0) return std::nullopt;
    product *= one.counts[i];
  }
  return product;
}

bool fits(const Instance& one, Reading reading, double slack) {
  const auto value = expected(one, reading);
  return value && may_equal(one.ratio, exactly(*value), slack);
}

struct Agreement {
  Reading reading = 0;
  std::int64_t rows = 0;
  double scale = 1;  ///< Where no reading is met: what all rows but one have alike, as requests in flight.
};

/// What all rows but one have alike, of three or more; 0 for nothing.
double common_ratio(const std::vector<Instance>& all) {
  if (all.size() < 3) return 0;
  for (const Instance& one : all) {
    const auto alike = std::count_if(all.begin(), all.end(), [&](const Instance& other) {
      return may_equal(other.ratio, exactly(middle(one.ratio)), 0.03) && other.batch == one.batch;
    });
    if (alike >= 2 && alike + 1 >= std::ssize(all)) return middle(one.ratio);
  }
  return 0;
}

/// The reading that most rows meet closely.
Agreement agreement_of(const std::vector<Instance>& all) {
  constexpr double close = 0.05;
  Agreement best;
  for (Reading reading = 0; reading < 1U << 5; ++reading) {
    const auto rows =
        std::count_if(all.begin(), all.end(), [&](const Instance& one) { return fits(one, reading, close); });
    if (rows > best.rows) best = {reading, rows};
  }
  if (best.rows >= 2) return best;
  const double common = common_ratio(all);
  // All of them off by a unit agree on nothing.
  for (Reading reading = 0; reading < 1U << 5 && common > 0; ++reading) {
    if (const auto value = expected(all[0], reading); value && !unit_fault(common / *value).empty()) return best;
  }
  if (common > 0) return {0, std::ssize(all) - 1, common};
  return best;
}

bool counts_a_rate(const CountedRelation& relation) {
  return relation.whole == Q::throughput || relation.whole == Q::tokens_per_s;
}

/// What a row that stands alone may be off and still be explained by counts that nobody states.
Severity severity_alone(const CountedRelation& relation, const Instance& one) {
  const bool is_rate = counts_a_rate(relation);
  const double items = is_rate ? middle(one.ratio) : 1 / middle(one.ratio);
  const double off = items / one.batch.value_or(1);
  const double whole = std::max(1.0, std::round(items));
  const bool is_whole = std::abs(items / whole - 1) < (is_rate ? 0.15 : 0.03);
  if (!one.batch && is_whole) return Severity::info;
  if (is_rate) return items < (one.batch ? 0.5 : 0.7) || (one.batch && off > 2) ? Severity::high : Severity::medium;
  return items > 1.5 || items < 0.67 ? Severity::high : Severity::medium;
}

void say_apart(const CountedRelation& relation, const Instance& one, double wanted, Severity severity,
               Complaints& say) {
  const double off = middle(one.ratio) / wanted;
  const Range given = one.whole->figure.range / one.ratio;
  const std::string unit = unit_name({dimension_of(relation.whole), 1});
  say.figure(*one.whole,
             fmt::format("{} is not {}, which gives {}{}{}{}.", shown(*one.whole), relation.words,
                         shown(scaled(given, wanted)), unit.empty() ? "" : " " + unit,
                         severity == Severity::high ? fmt::format(": {}x", shown(off)) : "", unit_fault(off)),
             fmt::format("{} = {}, the table says {}", one.words, shown(given), shown(*one.whole)), severity);
}

/// Throughput times the time of a whole run: rows agree on a count of items far above a batch, and no unit slipped.
bool is_of_whole_run(const std::vector<Instance>& all) {
  const double items = middle(all[0].ratio) / all[0].batch.value_or(1);
  const bool agree = std::all_of(all.begin(), all.end(), [&](const Instance& one) {
    return may_equal(one.ratio, exactly(middle(all[0].ratio)), 0.05);
  });
  return all.size() >= 2 && agree && items > 50 && unit_fault(items).empty();
}

void test_instance(const CountedRelation& relation, const std::vector<Instance>& all, const Instance& one,
                   const Agreement& most, Complaints& say) {
  const bool is_rate = counts_a_rate(relation);
  const bool is_printed = relation.has_unit && (relation.whole == Q::throughput || relation.whole == Q::energy);
  // Two rows that agree say how the table counts; of two rows in all one that does to a hundredth.
  const bool is_settled = most.rows >= 2 || (most.rows == 1 && all.size() == 2 && !fits(one, most.reading, 0.05) &&
                                             fits(&one == &all[0] ? all[1] : all[0], most.reading, 0.01));
  if (is_settled) {
    const auto reading = expected(one, most.reading);
    const double wanted = most.scale * reading.value_or(0);
    if (!reading || may_equal(one.ratio, exactly(wanted), 0.12)) return;
    const double off = middle(one.ratio) / wanted;
    const bool is_far = off > 1.3 || off < 0.77;
    return say_apart(relation, one, wanted, is_far ? Severity::high : Severity::medium, say);
  }
  if (!is_printed || (is_rate && is_of_whole_run(all))) return;
  for (Reading reading = 0; reading < 1U << 5; ++reading) {
    if (fits(one, reading, is_rate ? 0.15 : 0.1)) return;
  }
  if (const Severity severity = severity_alone(relation, one); severity >= Severity::medium)
    say_apart(relation, one, one.batch.value_or(1), severity, say);
}

void check_counted(const CountedRelation& relation, const PublishedTable& table, Complaints& say) {
  std::vector<Instance> all;
  all.reserve(table.rows.size());
  for (const Observation& row : table.rows) {
    if (auto one = instance_of(relation, table, row)) all.push_back(std::move(*one));
  }
  const Agreement most = agreement_of(all);
  for (const Instance& one : all) {
    say.relation_tested();
    test_instance(relation, all, one, most, say);
  }
}

}  // namespace

void check_relations(const PublishedTable& table, Complaints& say) {
  for (const CountedRelation& relation : counted_relations) {
    if (say.rule_id() == relation.rule) check_counted(relation, table, say);
  }
  for (const Observation& row : table.rows) {
    const RowFigures figures = figures_of(table, row);
    for (const Relation& relation : relations) {
      if (say.rule_id() == relation.rule) test_relation(relation, figures, row, say);
    }
  }
}

}  // namespace assay
