#include <algorithm>
#include <array>
#include <cmath>

#include "published/checks.h"

namespace assay {
namespace {

/// What a change in per cent says of `q`, a baseline's time over a row's, by a word of its header.
struct Reading {
  std::string_view word;
  Range (*share)(Range q);
};

Range rate_gained(Range q) {
  return {q.low - 1, q.high - 1};
}
Range time_saved(Range q) {
  return {1 - 1 / q.low, 1 - 1 / q.high};
}
Range time_added(Range q) {
  return {1 / q.high - 1, 1 / q.low - 1};
}

// "faster" is said of rates and, loosely, of times: both are allowed.
constexpr Reading readings[] = {
    {"reduction", time_saved},   {"saved", time_saved},   {"saving", time_saved},   {"less", time_saved},
    {"lower", time_saved},       {"shorter", time_saved}, {"decrease", time_saved}, {"increase", rate_gained},
    {"gain", rate_gained},       {"faster", rate_gained}, {"faster", time_saved},   {"improvement", rate_gained},
    {"improvement", time_saved}, {"slower", time_added},  {"slowdown", time_added}, {"overhead", time_added},
    {"change", time_added},      {"change", rate_gained}, {"delta", time_added},    {"diff", time_added},
    {"speedup", rate_gained},
};

bool meets(const Measured& claim, Range q, bool& is_read) {
  const Range said = claim.figure.range;
  const Range turned = {-said.high, -said.low};
  // What the cell itself says goes before its header.
  const auto own = words_of_header(claim.figure.behind);
  for (const std::string& word : own.empty() ? words_of_header(claim.column) : own) {
    for (const Reading& reading : readings) {
      if (!word.starts_with(reading.word)) continue;
      is_read = true;
      const Range share = reading.share(q);
      constexpr double slack = 0.012;
      for (const Range one : {said, turned}) {
        if (one.low - slack <= share.high && share.low <= one.high + slack) return true;
      }
    }
  }
  return false;
}

/// Baseline's time over the row's, from times or from rates.
std::optional<Range> changed_quotient(const Observation& base, const Observation& row, Quantity quantity) {
  const Measured* a = base.find(quantity);
  const Measured* b = row.find(quantity);
  if (!a || !b || a->figure.range.low <= 0 || b->figure.range.low <= 0) return std::nullopt;
  const bool is_rate = quantity == Quantity::throughput || quantity == Quantity::tokens_per_s;
  return is_rate ? b->figure.range / a->figure.range : a->figure.range / b->figure.range;
}

constexpr std::array changed_figures = {Quantity::latency, Quantity::step,       Quantity::forward,
                                        Quantity::tpot,    Quantity::throughput, Quantity::tokens_per_s};

/// What "Reduction" may be of, where its header says no more.
constexpr Quantity saved_figures[] = {Quantity::size, Quantity::memory, Quantity::energy, Quantity::power};

bool saves_anything(const Measured& claim) {
  const auto words = words_of_header(claim.column);
  return words.size() == 1 && (words[0] == "reduction" || words[0] == "savings");
}

void test_change(const Observation& base, const Observation& row, const Measured& claim, Complaints& say) {
  std::optional<Range> about;
  bool is_read = false;
  const auto fits = [&](Quantity quantity) {
    const auto q = changed_quotient(base, row, quantity);
    if (q && !about) about = q;
    return q && meets(claim, *q, is_read);
  };
  if (std::any_of(changed_figures.begin(), changed_figures.end(), fits)) return;
  if (saves_anything(claim) && std::any_of(std::begin(saved_figures), std::end(saved_figures), fits)) return;
  if (!about || !is_read) return;
  say.relation_tested();
  say.figure(
      claim,
      fmt::format("'{}' of {} is not what the figures give: {} % of time saved, {} % of rate gained.", claim.column,
                  shown(claim), shown(100 * middle(time_saved(*about))), shown(100 * middle(rate_gained(*about)))),
      fmt::format("{} against {}: {}x", row.label, base.label, shown(*about)));
}

/// The fp32 row, else the one without a claim or with one of nothing.
const Observation* base_of(const std::vector<const Observation*>& group, Quantity claim) {
  const Observation* base = nullptr;
  for (const Observation* row : group) {
    const Measured* said = row->find(claim);
    if (said && said->figure.value != (claim == Quantity::change ? 0 : 1)) continue;
    if (base) return baseline_of(group);
    base = row;
  }
  return base ? base : baseline_of(group);
}

bool claims_inverse(const Measured& claim) {
  for (const std::string& word : words_of_header(claim.column)) {
    if (word.starts_with("speedup") || word == "faster" || word == "acceleration") return true;
  }
  return false;
}

void test_inverted(const Observation& base, const Observation& row, const Measured& claim, Complaints& say) {
  if (claim.figure.unit.dimension == Dimension::percent || !claims_inverse(claim)) return;
  std::optional<Range> about;
  for (const Quantity quantity : changed_figures) {
    const auto q = changed_quotient(base, row, quantity);
    if (!q) continue;
    if (may_equal(claim.figure.range, *q, 0.04)) return;
    if (!about) about = q;
  }
  if (!about || (middle(*about) > 0.96 && middle(*about) < 1.04)) return;
  const bool is_inverse = may_equal(claim.figure.range, Range{1, 1} / *about, 0.04);
  say.figure(
      claim,
      fmt::format("'{}' of {}, but the figures give {}x{}.", claim.column, shown(claim), shown(*about),
                  is_inverse ? ": the quotient stands upside down" : ""),
      fmt::format("{} against {}", row.label, base.label),
      is_inverse || std::abs(std::log(claim.figure.value / middle(*about))) > 0.18 ? Severity::high : Severity::medium);
}

}  // namespace

void check_changes(const PublishedTable& table, Complaints& say) {
  for (const auto& group : table.groups()) {
    for (const Quantity quantity : {Quantity::change, Quantity::speedup}) {
      const Observation* base = base_of(group, quantity);
      for (const Observation* row : group) {
        const Measured* claim = row->find(quantity);
        if (!base || row == base || !claim) continue;
        const bool is_share = claim->figure.unit.dimension == Dimension::percent;
        if (is_share) test_change(*base, *row, *claim, say);
        if (!is_share && claim->figure.value > 0) test_inverted(*base, *row, *claim, say);
      }
    }
  }
}

void check_baseline(const PublishedTable& table, Complaints& say) {
  for (const Observation& row : table.rows) {
    const Measured* claim = row.find(Quantity::speedup);
    if (!claim) continue;
    const auto words = words_of_header(claim->column);
    const auto vs = std::find_if(words.begin(), words.end(),
                                 [](const std::string& word) { return word == "vs" || word == "over"; });
    if (vs == words.end() || vs + 1 == words.end()) continue;
    const PrecisionName wanted = read_precision(*(vs + 1)).precision;
    if (wanted == PrecisionName::unknown) continue;
    for (const Observation& other : table.rows) {
      if (other.precision.precision == wanted) return;
    }
    say.figure(*claim, fmt::format("'{}' compares with {}, which no row holds.", claim->column, name(wanted)),
               claim->column);
    return;
  }
}

}  // namespace assay
