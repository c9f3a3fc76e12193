#include <algorithm>
#include <cmath>

#include "published/checks.h"

namespace assay {
namespace {

/// The row that claims 1.0x itself, else the one fp32 row.
const Observation* ratio_baseline(const std::vector<const Observation*>& group, Quantity claim) {
  const Observation* unit = nullptr;
  for (const Observation* row : group) {
    const Measured* measured = row->find(claim);
    if (!measured || measured->figure.value != 1) continue;
    if (unit) return baseline_of(group);
    unit = row;
  }
  return unit ? unit : baseline_of(group);
}

/// What a claim may mean, from the quotient `base over row`: as a factor either way, or as a share saved or gained.
bool holds(const Measured& claim, Range quotient) {
  constexpr double slack = 0.03;
  const Range inverse = Range{1, 1} / quotient;
  const Range claimed = claim.figure.range;
  if (claim.figure.unit.dimension != Dimension::percent)
    return may_equal(claimed, quotient, slack) || may_equal(claimed, inverse, slack);
  const Range size = {std::min(std::abs(claimed.low), std::abs(claimed.high)),
                      std::max(std::abs(claimed.low), std::abs(claimed.high))};
  for (const Range meaning :
       {quotient, inverse, Range{1 - inverse.high, 1 - inverse.low}, Range{quotient.low - 1, quotient.high - 1},
        Range{inverse.low - 1, inverse.high - 1}, Range{1 - quotient.high, 1 - quotient.low}}) {
    if (size.low - 0.015 <= meaning.high && meaning.low <= size.high + 0.015) return true;
  }
  return false;
}

struct Claim {
  const Measured& said;
  const Measured& base;
  const Measured& own;
  Range quotient;
};

void say_mismatch(const Claim& claim, Complaints& say) {
  const bool is_percent = claim.said.figure.unit.dimension == Dimension::percent;
  const double actual = middle(claim.quotient);
  const double factor = std::max(actual, 1 / actual);
  const double said =
      is_percent ? claim.said.figure.value : std::max(claim.said.figure.value, 1 / claim.said.figure.value);
  const double off =
      is_percent ? 1 + std::abs(std::abs(said) - std::abs(1 - 1 / actual)) : std::max(said / factor, factor / said);
  say.figure(claim.said,
             fmt::format("{} is claimed, but the figures give {}{}.", shown(claim.said),
                         is_percent ? fmt::format("{} %", shown(100 * (1 - 1 / actual))) : shown(actual) + "x",
                         is_percent ? " less" : ""),
             fmt::format("{} against {}", shown(claim.base), shown(claim.own)),
             off > (is_percent ? 1.05 : 1.2) ? Severity::high : Severity::medium);
}

std::optional<Range> quotient_of(const Observation& baseline, const Observation& row, Quantity quantity) {
  const Measured* base = baseline.find(quantity);
  const Measured* own = row.find(quantity);
  if (!base || !own || base->figure.range.low <= 0 || own->figure.range.low <= 0) return std::nullopt;
  return base->figure.range / own->figure.range;
}

void check_column(const std::vector<const Observation*>& group, Quantity claim, std::initializer_list<Quantity> figures,
                  Complaints& say) {
  const Observation* baseline = ratio_baseline(group, claim);
  if (!baseline) return;
  for (const Observation* row : group) {
    const Measured* said = row->find(claim);
    if (row == baseline || !said || said->figure.value <= 0) continue;
    std::optional<Claim> broken;
    bool is_met = false;
    for (const Quantity quantity : figures) {
      const auto quotient = quotient_of(*baseline, *row, quantity);
      if (!quotient) continue;
      if (holds(*said, *quotient)) is_met = true;
      if (!broken) broken.emplace(Claim{*said, *baseline->find(quantity), *row->find(quantity), *quotient});
    }
    if (broken || is_met) say.relation_tested();
    if (broken && !is_met) say_mismatch(*broken, say);
  }
}

/// "83.54 ms (5.5% faster)": the claim behind the figure, where there is one.
std::optional<Measured> claim_behind(const Measured& measured) {
  const std::string& text = measured.figure.behind;
  const auto open = text.find('(');
  if (open == std::string::npos) return std::nullopt;
  const auto figure = read_figure(std::string_view(text).substr(open + 1));
  if (!figure) return std::nullopt;
  const bool is_claim = figure->unit.dimension == Dimension::percent || figure->unit.dimension == Dimension::ratio;
  constexpr std::string_view words[] = {"fast", "slow", "less",  "more", "small", "large",
                                        "low",  "high", "reduc", "sav",  "better"};
  const bool compares = std::any_of(std::begin(words), std::end(words), [&](std::string_view word) {
    return figure->behind.find(word) != std::string::npos;
  });
  if (!is_claim || !compares) return std::nullopt;
  Measured claim = measured;
  claim.figure = in_base_unit(*figure);
  claim.figure.unit.dimension = figure->unit.dimension;
  claim.figure.text = text.substr(open);
  return claim;
}

void check_cells(const std::vector<const Observation*>& group, Complaints& say) {
  const Observation* baseline = baseline_of(group);
  if (!baseline) return;
  for (const Observation* row : group) {
    if (row == baseline) continue;
    for (const auto& [quantity, measured] : row->figures) {
      const auto claim = claim_behind(measured);
      const auto quotient = quotient_of(*baseline, *row, quantity);
      if (claim && quotient && !holds(*claim, *quotient))
        say_mismatch({*claim, *baseline->find(quantity), measured, *quotient}, say);
    }
  }
}

}  // namespace

void check_ratios(const PublishedTable& table, Complaints& say) {
  for (const auto& group : table.groups()) {
    check_column(group, Quantity::speedup,
                 {Quantity::latency, Quantity::step, Quantity::forward, Quantity::backward, Quantity::throughput,
                  Quantity::tokens_per_s},
                 say);
    check_column(group, Quantity::energy_ratio, {Quantity::energy}, say);
    check_column(group, Quantity::size_ratio, {Quantity::size, Quantity::memory}, say);
    check_cells(group, say);
  }
}

}  // namespace assay
