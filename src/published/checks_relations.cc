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

constexpr Relation relations[] = {
    {"token_rate",
     Quantity::tokens_per_s,
     1e3,
     {{{Quantity::batch, 1}, {Quantity::tpot, -1}, {}}},
     0.15,
     "batch / time between tokens"},
    {"token_rate",
     Quantity::tokens_per_s,
     1e3,
     {{{Quantity::batch, 1}, {Quantity::output, 1}, {Quantity::latency, -1}}},
     0.15,
     "batch x generated tokens / latency"},
    {"token_energy",
     Quantity::token_energy,
     1,
     {{{Quantity::tokens_per_joule, -1}, {}, {}}},
     0.03,
     "1 / tokens a joule"},
    {"token_energy",
     Quantity::power,
     1,
     {{{Quantity::token_energy, 1}, {Quantity::tokens_per_s, 1}, {}}},
     0.15,
     "energy of a token x tokens a second"},
    {"item_energy",
     Quantity::power,
     1,
     {{{Quantity::energy, 1}, {Quantity::throughput, 1}, {}}},
     0.2,
     "energy of an item x items a second"},
};

Range to_power(Range range, int power) {
  return power > 0 ? range : Range{1 / range.high, 1 / range.low};
}

/// Of the relation's right side, without the factor at `left_out`; none where one of them is not known.
struct Product {
  Range range;
  std::string words;
};

std::optional<Product> product_of(const Relation& relation, const RowFigures& row, Quantity left_out) {
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

/// Tokens a second over batch x length / latency; none where one of them is not printed.
std::optional<Range> window_share(const PublishedTable& table, const Observation& row) {
  const auto rate = row.absolute(Quantity::tokens_per_s);
  const auto time = row.absolute(Quantity::latency);
  const auto batch = batch_of(table, row);
  const Measured* seq = row.find(Quantity::seq);
  if (!rate || !time || !batch || !seq || rate->low <= 0 || time->low <= 0) return std::nullopt;
  return scaled(*rate * *time, 1e-3 / (*batch * seq->figure.value));
}

/// Where other rows count whole windows (batch x length / latency), a row that does not is off.
void check_windows(const PublishedTable& table, Complaints& say) {
  std::vector<const Observation*> off;
  int whole = 0;
  for (const Observation& row : table.rows) {
    const auto share = window_share(table, row);
    if (!share) continue;
    say.relation_tested();
    if (may_equal(*share, exactly(1), 0.03)) ++whole;
    if (!may_equal(*share, exactly(1), 0.12)) off.push_back(&row);
  }
  if (whole < 2) return;
  for (const Observation* row : off) {
    const Measured& about = *row->find(Quantity::tokens_per_s);
    const std::string share = shown(*window_share(table, *row));
    say.figure(about,
               fmt::format("{} is {}x batch x length / latency, which other rows are once.", shown(about), share),
               fmt::format("{} x {} = {} windows", shown(about), shown(*row->find(Quantity::latency)), share));
  }
}

}  // namespace

void check_relations(const PublishedTable& table, Complaints& say) {
  if (say.rule_id() == std::string_view("token_rate")) check_windows(table, say);
  for (const Observation& row : table.rows) {
    const RowFigures figures = figures_of(table, row);
    for (const Relation& relation : relations) {
      if (say.rule_id() == relation.rule) test_relation(relation, figures, row, say);
    }
  }
}

}  // namespace assay
