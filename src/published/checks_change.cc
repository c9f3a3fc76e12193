#include <algorithm>
#include <array>
#include <cmath>

#include "published/checks.h"
#include "published/row_figures.h"

namespace assay {
namespace {

/// What a change in per cent says of `q`, a baseline's figure over a row's ("times less"), by a word of its header.
struct PercentReading {
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
constexpr PercentReading percent_readings[] = {
    {"reduction", time_saved},   {"saved", time_saved},   {"saving", time_saved},      {"less", time_saved},
    {"lower", time_saved},       {"shorter", time_saved}, {"decrease", time_saved},    {"increase", rate_gained},
    {"gain", rate_gained},       {"faster", rate_gained}, {"faster", time_saved},      {"improvement", rate_gained},
    {"improvement", time_saved}, {"slower", time_added},  {"slowdown", time_added},    {"overhead", time_added},
    {"change", time_added},      {"change", rate_gained}, {"delta", time_added},       {"diff", time_added},
    {"speedup", rate_gained},    {"vs", time_added},      {"vs", rate_gained},         {"relative", time_added},
    {"relative", rate_gained},   {"latency", time_added}, {"throughput", rate_gained},
};

bool is_percent(const Measured& claim) {
  return claim.figure.unit.dimension == Dimension::percent;
}

bool meets(const Measured& claim, Range share) {
  constexpr double slack = 0.014;
  const Range said = claim.figure.range;
  return (said.low - slack <= share.high && share.low <= said.high + slack) ||
         (-said.high - slack <= share.high && share.low <= -said.low + slack);
}

/// Whether words of the cell, else of its header, say how the change is counted; and whether it is met so.
struct WordedChange {
  bool is_read = false;
  bool is_met = false;
};

WordedChange worded_change(const Measured& claim, Range q) {
  WordedChange change;
  const auto own = words_of_header(claim.figure.behind);
  for (const std::string& word : own.empty() ? words_of_header(claim.header) : own) {
    for (const PercentReading& reading : percent_readings) {
      if (!word.starts_with(reading.word)) continue;
      change.is_read = true;
      change.is_met = change.is_met || meets(claim, reading.share(q));
    }
  }
  return change;
}

/// As a factor either way, or as a share saved, gained or left.
bool holds(const Measured& claim, Range q) {
  constexpr double slack = 0.03;
  const Range inverse = Range{1, 1} / q;
  if (!is_percent(claim))
    return may_equal(claim.figure.range, q, slack) || may_equal(claim.figure.range, inverse, slack);
  const std::array meanings = {q, inverse, time_saved(q), rate_gained(q), time_added(q)};
  return std::any_of(meanings.begin(), meanings.end(), [&](Range meaning) { return meets(claim, meaning); });
}

bool is_rate(Quantity quantity) {
  return quantity == Quantity::throughput || quantity == Quantity::tokens_per_s;
}

/// Baseline's figure over the row's; of rates upside down.
std::optional<Range> quotient_of(const Observation& base, const Observation& row, Quantity quantity) {
  const Measured* a = base.find(quantity);
  const Measured* b = row.find(quantity);
  if (!a || !b || a->figure.range.low <= 0 || b->figure.range.low <= 0) return std::nullopt;
  return is_rate(quantity) ? b->figure.range / a->figure.range : a->figure.range / b->figure.range;
}

/// A claim and the figures that it may be of.
struct Comparison {
  Quantity claim;
  std::initializer_list<Quantity> figures;
};
const Comparison comparisons[] = {
    {Quantity::speedup,
     {Quantity::latency, Quantity::step, Quantity::forward, Quantity::backward, Quantity::tpot, Quantity::throughput,
      Quantity::tokens_per_s}},
    {Quantity::change,
     {Quantity::latency, Quantity::step, Quantity::forward, Quantity::tpot, Quantity::throughput,
      Quantity::tokens_per_s}},
    {Quantity::energy_ratio, {Quantity::energy, Quantity::token_energy, Quantity::power}},
    {Quantity::size_ratio, {Quantity::size, Quantity::memory}},
    {Quantity::recovery, {Quantity::accuracy}},
};

/// What "Reduction" may be of, where its header says no more.
constexpr Quantity saved_figures[] = {Quantity::size, Quantity::memory, Quantity::energy, Quantity::power};

bool saves_anything(const Measured& claim) {
  const auto words = words_of_header(claim.header);
  return words.size() == 1 && (words[0] == "reduction" || words[0] == "savings");
}

/// The row that claims nothing, or no change; where several do, the one fp32 row.
const Observation* base_of(const std::vector<const Observation*>& group, Quantity claim) {
  const Observation* base = nullptr;
  for (const Observation* row : group) {
    const Measured* said = row->find(claim);
    const bool is_change = claim != Quantity::recovery && said && (is_percent(*said) || claim == Quantity::change);
    if (said && said->figure.value != (is_change ? 0 : 1)) continue;
    if (base) return baseline_of(group);
    base = row;
  }
  return base ? base : baseline_of(group);
}

/// A claim beside the one figure that it is judged by.
struct Claim {
  const Measured& said;
  const Measured& base;
  const Measured& own;
  Range quotient;
};

void say_mismatch(const Claim& claim, Complaints& say) {
  const double actual = middle(claim.quotient);
  const double factor = std::max(actual, 1 / actual);
  const double said =
      is_percent(claim.said) ? claim.said.figure.value : std::max(claim.said.figure.value, 1 / claim.said.figure.value);
  const double off = is_percent(claim.said) ? 1 + std::abs(std::abs(said) - std::abs(1 - 1 / actual))
                                            : std::max(said / factor, factor / said);
  say.figure(
      claim.said,
      fmt::format("{} is claimed, but the figures give {}{}.", shown(claim.said),
                  is_percent(claim.said) ? fmt::format("{} %", shown(100 * (1 - 1 / actual))) : shown(actual) + "x",
                  is_percent(claim.said) ? " less" : ""),
      fmt::format("{} against {}", shown(claim.base), shown(claim.own)),
      off > (is_percent(claim.said) ? 1.05 : 1.2) ? Severity::high : Severity::medium);
}

/// "Relative", "Ratio": of any figure of the row.
std::vector<Quantity> figures_of_claim(const Comparison& comparison, const Observation& row) {
  std::vector<Quantity> figures = comparison.figures;
  const auto words = words_of_header(row.find(comparison.claim)->header);
  constexpr std::string_view any[] = {"relative", "normalized", "normalised", "ratio", "vs"};
  const bool is_bare = words.size() == 1 || (words.size() == 2 && words[0] == "vs");
  if (!is_bare || std::find(std::begin(any), std::end(any), words[0]) == std::end(any)) return figures;
  for (const auto& figure : row.figures) {
    if (figure.first != comparison.claim && dimension_of(figure.first) != Dimension::none)
      figures.push_back(figure.first);
  }
  return figures;
}

void check_ratio(const Comparison& comparison, const Observation& base, const Observation& row, Complaints& say) {
  const Measured& said = *row.find(comparison.claim);
  std::optional<Claim> broken;
  for (const Quantity quantity : figures_of_claim(comparison, row)) {
    const auto quotient = quotient_of(base, row, quantity);
    if (!quotient) continue;
    if (!broken) say.relation_tested();
    if (holds(said, *quotient)) return;
    if (!broken) broken.emplace(Claim{said, *base.find(quantity), *row.find(quantity), *quotient});
  }
  if (broken) say_mismatch(*broken, say);
}

/// "83.54 ms (5.5% faster)", "12.1 ms (1.8x)": the claim behind the figure, where there is one.
std::optional<Measured> claim_behind(const Measured& measured) {
  const std::string& text = measured.figure.behind;
  const auto open = text.find('(');
  if (open == std::string::npos) return std::nullopt;
  const auto figure = read_figure(std::string_view(text).substr(open + 1));
  if (!figure) return std::nullopt;
  constexpr std::string_view words[] = {"fast", "slow", "less",  "more", "small", "large",
                                        "low",  "high", "reduc", "sav",  "better"};
  const bool compares = std::any_of(std::begin(words), std::end(words), [&](std::string_view word) {
    return figure->behind.find(word) != std::string::npos;
  });
  const bool is_ratio = figure->unit.dimension == Dimension::ratio;
  if (!is_ratio && !(figure->unit.dimension == Dimension::percent && compares)) return std::nullopt;
  Measured claim = measured;
  claim.figure = in_base_unit(*figure);
  claim.figure.unit.dimension = figure->unit.dimension;
  claim.figure.text = text.substr(open);
  return claim;
}

void check_cells(const Observation& base, const Observation& row, Complaints& say) {
  for (const auto& [quantity, measured] : row.figures) {
    const auto claim = claim_behind(measured);
    const auto quotient = quotient_of(base, row, quantity);
    if (claim && quotient && !holds(*claim, *quotient))
      say_mismatch({*claim, *base.find(quantity), measured, *quotient}, say);
  }
}

/// Without their baseline's row, claims times figures are its figure all the same: alike in every row.
void check_implied_base(const std::vector<const Observation*>& group, const Comparison& comparison, Complaints& say) {
  for (const Quantity quantity : comparison.figures) {
    std::vector<std::pair<const Measured*, Range>> bases;
    for (const Observation* row : group) {
      const Measured* said = row->find(comparison.claim);
      const Measured* own = row->find(quantity);
      if (!said || !own || is_percent(*said) || said->figure.range.low <= 0 || own->figure.range.low <= 0) continue;
      bases.emplace_back(
          said, is_rate(quantity) ? own->figure.range / said->figure.range : own->figure.range * said->figure.range);
    }
    const auto alike = [&](const auto& one) {
      return std::count_if(bases.begin(), bases.end(),
                           [&](const auto& other) { return may_equal(one.second, other.second, 0.03); });
    };
    const auto others_alike =
        std::count_if(bases.begin(), bases.end(), [&](const auto& one) { return alike(one) + 1 >= std::ssize(bases); });
    for (const auto& one : bases) {
      if (bases.size() < 3 || alike(one) > 1 || others_alike + 1 < std::ssize(bases)) continue;
      const auto& other = &one == &bases.front() ? bases[1] : bases.front();
      say.figure(
          *one.first,
          fmt::format("{} of its figure is a baseline of {}, of another row {}: they were not compared with one.",
                      shown(*one.first), shown(one.second), shown(other.second)),
          fmt::format("{} against {}", shown(one.second), shown(other.second)),
          may_equal(one.second, other.second, 0.2) ? Severity::medium : Severity::high);
      return;
    }
  }
}

}  // namespace

void check_ratios(const PublishedTable& table, Complaints& say) {
  for (const auto& group : table.groups()) {
    for (const Comparison& comparison : comparisons) {
      const Observation* base = base_of(group, comparison.claim);
      if (!base) check_implied_base(group, comparison, say);
      for (const Observation* row : group) {
        const Measured* said = row->find(comparison.claim);
        const bool is_worded = comparison.claim == Quantity::change;
        if (base && row != base && said && said->figure.value > 0 && !is_worded)
          check_ratio(comparison, *base, *row, say);
      }
    }
    const Observation* base = baseline_of(group);
    for (const Observation* row : group) {
      if (base && row != base) check_cells(*base, *row, say);
    }
  }
}

namespace {

void test_change(const Comparison& comparison, const Observation& base, const Observation& row, Complaints& say) {
  const Measured& claim = *row.find(comparison.claim);
  std::optional<Range> about;
  bool is_read = false;
  const auto fits = [&](Quantity quantity) {
    const auto q = quotient_of(base, row, quantity);
    if (!q) return false;
    if (!about) about = q;
    const WordedChange change = worded_change(claim, *q);
    is_read = is_read || change.is_read;
    return change.is_met;
  };
  if (std::any_of(comparison.figures.begin(), comparison.figures.end(), fits)) return;
  if (saves_anything(claim) && std::any_of(std::begin(saved_figures), std::end(saved_figures), fits)) return;
  if (!about || !is_read) return;
  say.relation_tested();
  say.figure(
      claim,
      fmt::format("'{}' of {} is not what the figures give: {} % of time saved, {} % of rate gained.", claim.header,
                  shown(claim), shown(100 * middle(time_saved(*about))), shown(100 * middle(rate_gained(*about)))),
      fmt::format("{} against {}: {}x", row.label, base.label, shown(*about)));
}

bool claims_faster(const Measured& claim) {
  const auto words = words_of_header(claim.header);
  return std::any_of(words.begin(), words.end(), [](const std::string& word) {
    return word.starts_with("speedup") || word == "faster" || word == "acceleration" || word == "up";
  });
}

/// "1.25x" of a row that is 1.25 times slower.
void test_inverted(const Comparison& comparison, const Observation& base, const Observation& row, Complaints& say) {
  const Measured& claim = *row.find(comparison.claim);
  const bool says_slower = claim.figure.behind.find("slow") != std::string::npos;
  if (claim.figure.value <= 0 || !claims_faster(claim) || says_slower) return;
  std::optional<Range> about;
  for (const Quantity quantity : comparison.figures) {
    const auto q = quotient_of(base, row, quantity);
    if (!q) continue;
    if (may_equal(claim.figure.range, *q, 0.04)) return;
    if (!about) about = q;
  }
  if (!about || (middle(*about) > 0.96 && middle(*about) < 1.04)) return;
  const bool is_inverse = may_equal(claim.figure.range, Range{1, 1} / *about, 0.04);
  say.figure(
      claim,
      fmt::format("'{}' of {}, but the figures give {}x{}.", claim.header, shown(claim), shown(*about),
                  is_inverse ? ": the quotient stands upside down" : ""),
      fmt::format("{} against {}", row.label, base.label),
      is_inverse || std::abs(std::log(claim.figure.value / middle(*about))) > 0.18 ? Severity::high : Severity::medium);
}

}  // namespace

void check_changes(const PublishedTable& table, Complaints& say) {
  for (const auto& group : table.groups()) {
    for (const Comparison& comparison : comparisons) {
      if (comparison.claim != Quantity::change && comparison.claim != Quantity::speedup) continue;
      const Observation* base = base_of(group, comparison.claim);
      for (const Observation* row : group) {
        const Measured* claim = row->find(comparison.claim);
        if (!base || row == base || !claim) continue;
        (is_percent(*claim) ? test_change : test_inverted)(comparison, *base, *row, say);
      }
    }
  }
}

namespace {

/// "vs FP32", "over the FP32 baseline", "relative to fp16": the precision that a text compares with.
PrecisionName compared_with(const std::string& text) {
  const auto words = words_of_header(text);
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    constexpr std::string_view joints[] = {"vs", "over", "relative", "against", "versus", "than", "compared"};
    if (std::find(std::begin(joints), std::end(joints), words[i]) == std::end(joints)) continue;
    for (std::size_t next = i + 1; next < std::min(words.size(), i + 4); ++next) {
      const PrecisionName found = read_precision(words[next]).precision;
      if (found != PrecisionName::unknown) return found;
    }
  }
  return PrecisionName::unknown;
}

/// The baseline's figure stands in the words around: "FP32 took 328 ms".
bool says_baseline(const PublishedTable& table, PrecisionName wanted) {
  std::string text = table.context + ". ";
  for (const TextLine& line : table.prose) text += line.text + ". ";
  const std::vector<FigureInText> figures = figures_in(text);
  return std::any_of(figures.begin(), figures.end(), [&](const FigureInText& mention) {
    const Dimension dimension = mention.figure.unit.dimension;
    const bool is_speed =
        dimension == Dimension::time || dimension == Dimension::rate || dimension == Dimension::token_rate;
    const std::size_t from = mention.from - std::min<std::size_t>(mention.from, 60);
    return is_speed && read_precision(text.substr(from, mention.to + 40 - from)).precision == wanted;
  });
}

const Measured* compared_figure(const Observation& row) {
  for (const Quantity quantity : comparisons[0].figures) {
    if (const Measured* measured = row.find(quantity)) return measured;
  }
  return nullptr;
}

}  // namespace

void check_baseline(const PublishedTable& table, Complaints& say) {
  PrecisionName wanted = PrecisionName::unknown;
  const Observation* first = nullptr;
  for (const Observation& row : table.rows) {
    const Measured* claim = row.find(Quantity::speedup);
    if (!claim) continue;
    if (!is_percent(*claim) && claim->figure.value == 1) return;
    if (!first) first = &row;
  }
  if (!first) return;
  const Measured& claim = *first->find(Quantity::speedup);
  wanted = compared_with(claim.header);
  const bool is_said_above = wanted == PrecisionName::unknown;
  if (is_said_above && (table.context.find("peed") != std::string::npos)) wanted = compared_with(table.context);
  if (wanted == PrecisionName::unknown || table.struck_rows > 0 || says_baseline(table, wanted)) return;
  for (const Observation& other : table.rows) {
    if (other.precision.precision == wanted) return;
  }
  say.figure(claim, fmt::format("'{}' compares with {}, which no row holds.", claim.header, name(wanted)), claim.header,
             compared_figure(*first) ? Severity::high : Severity::medium);
}

}  // namespace assay
