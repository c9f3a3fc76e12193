#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/lower_case.h"
#include "published/checks.h"
#include "published/claims.h"

namespace assay {
namespace {

/// What a table gives where a claim states its figure.
struct TableReading {
  Range value;
  const Observation* row = nullptr;
  const Observation* base = nullptr;  ///< null: the row's own figure.
  const PublishedTable* table = nullptr;
  Quantity quantity = Quantity::none;
};

using Tables = std::span<const PublishedTable>;

bool is_of_rate(Quantity quantity) {
  return quantity == Quantity::throughput || quantity == Quantity::tokens_per_s || quantity == Quantity::prompt_rate ||
         quantity == Quantity::rate;
}

std::optional<Range> printed_range(const Observation& row, Quantity quantity) {
  const Measured* measured = row.find(quantity);
  if (!measured) return std::nullopt;
  return quantity == Quantity::accuracy ? accuracy_share(*measured) : measured->figure.range;
}

/// Whether a base is one without being named: stored wider, or of no precision that is known.
bool is_usual_base(const Observation& base, const Observation& row) {
  const int bits = stored_bits(base.precision.precision);
  const int own = stored_bits(row.precision.precision);
  return bits == 0 || own == 0 || bits > own ||
         (bits == own && operand_bits(base.precision.precision) > operand_bits(row.precision.precision));
}

struct Pair {
  const Observation* base;
  const Observation* row;
};

/// Rows that the claim may compare: of one setting, where there are such.
std::vector<Pair> pairs_of(const ReadClaim& claim, const PublishedTable& table) {
  std::vector<Pair> alike;
  std::vector<Pair> apart;
  constexpr std::size_t most = 4000;
  for (const Observation& row : table.rows) {
    if (!claim.of.holds(row) || (!claim.model.holds(row) && claim.model.words != claim.than.words)) continue;
    for (const Observation& base : table.rows) {
      if (&base == &row || alike.size() + apart.size() >= most) continue;
      const bool is_base = claim.than.is_any() ? is_usual_base(base, row) : claim.than.holds(base);
      if (is_base) (base.group == row.group ? alike : apart).push_back({&base, &row});
    }
  }
  const bool is_split = table.groups().size() == table.rows.size() || !claim.than.words.empty();
  return alike.empty() && is_split ? apart : alike;
}

/// What a comparison of quality may say: the difference, as points or as a part of the base, or what is kept.
void add_quality(Range base, Range row, TableReading reading, std::vector<TableReading>& all) {
  const auto add = [&](Range value) {
    reading.value = value;
    all.push_back(reading);
  };
  const Range difference = {row.low - base.high, row.high - base.low};
  const double least =
      difference.low <= 0 && difference.high >= 0 ? 0 : std::min(std::abs(difference.low), std::abs(difference.high));
  const Range size = {least, std::max(std::abs(difference.low), std::abs(difference.high))};
  add(size);
  if (base.low > 0) add(size / base);
  if (base.low > 0 && row.low > 0) add(row / base);
}

/// Of `q`, the base's figure over the row's (of rates upside down), all that the claim's words may mean.
std::vector<Range> meanings_of(const ReadClaim& claim, Range q) {
  const Range inverse = Range{1, 1} / q;
  const bool is_better = claim.sense != Sense::worse;
  const bool is_worse = claim.sense != Sense::better;
  std::vector<Range> all;
  if (claim.figure.unit.dimension == Dimension::ratio) {
    if (is_better || claim.is_left) all.push_back(q);
    if (is_worse || claim.is_left) all.push_back(inverse);
    return all;
  }
  const Range saved = {1 - inverse.high, 1 - inverse.low};
  const Range gained = {q.low - 1, q.high - 1};
  const bool is_loose = claim.subject == ClaimSubject::speed || claim.subject == ClaimSubject::rate;
  if (is_better) all.push_back(claim.subject == ClaimSubject::rate ? gained : saved);
  if (is_better && (is_loose || claim.sense == Sense::unknown)) all.push_back(gained), all.push_back(saved);
  if (is_worse) all.push_back({inverse.low - 1, inverse.high - 1});
  if (is_worse && is_loose) all.push_back({1 - q.high, 1 - q.low});
  if (claim.is_left || claim.sense == Sense::unknown) all.push_back(inverse), all.push_back(q);
  return all;
}

/// A column of the table that says the same of the row: its speed-up.
std::optional<Quantity> said_beside(ClaimSubject subject) {
  if (subject == ClaimSubject::speed || subject == ClaimSubject::time || subject == ClaimSubject::rate)
    return Quantity::speedup;
  if (subject == ClaimSubject::energy || subject == ClaimSubject::power) return Quantity::energy_ratio;
  if (subject == ClaimSubject::memory || subject == ClaimSubject::size) return Quantity::size_ratio;
  return std::nullopt;
}

void add_said(const ReadClaim& claim, const PublishedTable& table, std::vector<TableReading>& all) {
  const auto quantity = said_beside(claim.subject);
  for (const Observation& row : table.rows) {
    if (!quantity || !claim.of.holds(row) || !claim.model.holds(row)) continue;
    for (const Quantity one : {*quantity, Quantity::change}) {
      const Measured* said = row.find(one);
      if (said) all.push_back({said->figure.range, &row, nullptr, &table, one});
    }
  }
}

void add_values(const ReadClaim& claim, const PublishedTable& table, std::vector<TableReading>& all) {
  for (const Observation& row : table.rows) {
    if (!claim.of.holds(row) || !claim.model.holds(row)) continue;
    for (const Quantity quantity : quantities_of(claim.subject)) {
      const Measured* own = row.find(quantity);
      const bool is_same_unit = own && dimension_of(quantity) == claim.figure.unit.dimension;
      if (own && (own->is_absolute || quantity == Quantity::perplexity) &&
          (is_same_unit || claim.subject == ClaimSubject::accuracy || claim.subject == ClaimSubject::perplexity))
        all.push_back({*printed_range(row, quantity), &row, nullptr, &table, quantity});
    }
  }
}

void add_comparisons(const ReadClaim& claim, const PublishedTable& table, std::vector<TableReading>& all) {
  for (const Pair& pair : pairs_of(claim, table)) {
    for (const Quantity quantity : quantities_of(claim.subject)) {
      const auto base = printed_range(*pair.base, quantity);
      const auto row = printed_range(*pair.row, quantity);
      if (!base || !row) continue;
      TableReading reading{{}, pair.row, pair.base, &table, quantity};
      if (claim.subject == ClaimSubject::accuracy || claim.subject == ClaimSubject::perplexity)
        add_quality(*base, *row, reading, all);
      if (claim.subject == ClaimSubject::accuracy || base->low <= 0 || row->low <= 0) continue;
      const Range q = is_of_rate(quantity) ? *row / *base : *base / *row;
      for (const Range meaning : meanings_of(claim, q)) {
        reading.value = meaning;
        all.push_back(reading);
      }
    }
  }
}

std::vector<TableReading> readings_of(const ReadClaim& claim, Tables tables) {
  std::vector<TableReading> all;
  for (const PublishedTable& table : tables) {
    const bool is_quality = claim.subject == ClaimSubject::accuracy || claim.subject == ClaimSubject::perplexity;
    if (claim.is_value() || is_quality) add_values(claim, table, all);
    if (!claim.is_value() || is_quality) add_comparisons(claim, table, all);
    if (!claim.is_value() && !claim.is_order) add_said(claim, table, all);
  }
  return all;
}

/// What the claim's figure allows, with its hedge.
Range allowed(const ReadClaim& claim) {
  const Range said = in_base_unit(claim.figure).range;
  constexpr double without_end = 1e300;
  const bool is_share = claim.figure.unit.dimension == Dimension::percent;
  const double points = claim.subject == ClaimSubject::accuracy ? 0.0006 : is_share ? 0.012 : 0;
  const double part = is_share ? 0 : 0.025;
  const Range exact = {said.low * (1 - part) - points, said.high * (1 + part) + points};
  switch (claim.hedge) {
    case Hedge::about:
      return {exact.low * 0.9, exact.high * 1.1};
    case Hedge::nearly:
      return {exact.low * 0.85, exact.high};
    case Hedge::at_least:
      return {exact.low, without_end};
    case Hedge::at_most:
      return {-without_end, exact.high};
    case Hedge::none:
      break;
  }
  return exact;
}

bool overlap(Range a, Range b) {
  return a.low <= b.high && b.low <= a.high;
}

/// Of several settings of one comparison a claim may give the middle.
bool lies_between(const ReadClaim& claim, const std::vector<TableReading>& readings) {
  std::set<std::string_view> groups;
  Range hull = readings.front().value;
  for (const TableReading& one : readings) {
    groups.insert(one.row->group);
    hull = {std::min(hull.low, one.value.low), std::max(hull.high, one.value.high)};
  }
  return groups.size() > 1 && !claim.of.is_any() && claim.model.is_any() && overlap(allowed(claim), hull);
}

bool is_setting_of(double batch, Tables tables) {
  return std::any_of(tables.begin(), tables.end(), [&](const PublishedTable& table) {
    const bool is_of_row = std::any_of(table.rows.begin(), table.rows.end(), [&](const Observation& row) {
      const auto own = batch_of(table, row);
      return own && *own == batch;
    });
    return is_of_row || table.batch == batch;
  });
}

/// Words that part rows, which no row has: the claim is of something else.
std::string other_method(const std::string& sentence, Tables tables) {
  for (const char* method : {"compile", "flash", "prun", "distill", "batching", "cuda graph", "fused", "fusion",
                             "speculative", "cach", "tensor parallel", "kernel", "thread"}) {
    if (sentence.find(method) == std::string::npos) continue;
    const bool is_of_row = std::any_of(tables.begin(), tables.end(), [&](const PublishedTable& table) {
      return std::any_of(table.rows.begin(), table.rows.end(), [&](const Observation& row) {
        return lower_case(row.label + row.group).find(method) != std::string::npos;
      });
    });
    if (!is_of_row) return method;
  }
  return "";
}

bool is_bare(const ReadClaim& claim) {
  const std::string lower = lower_case(claim.sentence);
  if (words_of_header(lower).size() <= 7) return true;
  for (const char* own : {"quanti", " our ", "we ", "low precision", "reduced precision", "mixed precision"}) {
    if (lower.find(own) != std::string::npos) return true;
  }
  return false;
}

/// Whether every duration, energy, power and size of the sentence stands in a row: else it is of something else.
bool has_rows_figures(const ReadClaim& claim, Tables tables) {
  const auto stands_in = [&](const PrintedFigure& figure) {
    return std::any_of(tables.begin(), tables.end(), [&](const PublishedTable& table) {
      return std::any_of(table.rows.begin(), table.rows.end(), [&](const Observation& row) {
        return std::any_of(row.figures.begin(), row.figures.end(), [&](const auto& one) {
          return dimension_of(one.first) == figure.unit.dimension &&
                 may_equal(one.second.figure.range, in_base_unit(figure).range, 0.02);
        });
      });
    });
  };
  for (const FigureInText& one : figures_in(claim.sentence)) {
    const Dimension dimension = one.figure.unit.dimension;
    const bool is_measured = dimension == Dimension::time || dimension == Dimension::energy ||
                             dimension == Dimension::power || dimension == Dimension::bytes;
    if (is_measured && !stands_in(one.figure)) return false;
  }
  return true;
}

/// Why a claim that no row meets may be of something that no row is; empty: it is not.
std::string otherwise(const ReadClaim& claim, const std::vector<TableReading>& readings, Tables tables) {
  const std::string lower = lower_case(claim.sentence);
  const bool names_row = !claim.of.is_any() || !claim.model.is_any() || !claim.than.is_any();
  if (claim.is_value() && claim.of.is_any() && claim.model.is_any()) return "no row is named";
  if (!names_row && !is_bare(claim)) return "no row is named";
  if (const std::string method = other_method(lower, tables); !method.empty()) return "no row says '" + method + "'";
  if (!claim.is_value() && !has_rows_figures(claim, tables)) return "its sentence has figures of no row";
  const auto batch = number_behind(lower, {"batch size", "batch-size", "batch of", "batch", "bs"});
  if (batch && !is_setting_of(*batch, tables)) return "no row is of that batch";
  const KnownDevice* device = known_device_named_in(claim.sentence);
  const auto is_on = [&](const TableReading& one) { return one.row->device == device; };
  if (device && std::none_of(readings.begin(), readings.end(), is_on)) return "no row is of that device";
  std::set<std::string_view> groups;
  for (const TableReading& one : readings) groups.insert(one.row->group);
  if (claim.is_value() && groups.size() > 1) return "several settings, and it names none";
  if (claim.is_value() && lower.find(" per ") != std::string::npos) return "it may be of another unit of work";
  for (const char* word : {"on average", "average", "mean", "overall", "total", "combined", "together"}) {
    if (lower.find(word) != std::string::npos) return "it is of several rows at once";
  }
  return "";
}

/// Why nothing stands where the claim would be read from.
std::string why_unbound(const ReadClaim& claim, Tables tables) {
  const auto any_row = [&](auto&& is_one) {
    return std::any_of(tables.begin(), tables.end(), [&](const PublishedTable& table) {
      return std::any_of(table.rows.begin(), table.rows.end(), is_one);
    });
  };
  for (const NamedRows* named : {&claim.of, &claim.than, &claim.model}) {
    if (!any_row([&](const Observation& row) { return named->holds(row); })) return "no row is " + named->shown();
  }
  const auto has_figure = [&](const Observation& row) {
    const auto quantities = quantities_of(claim.subject);
    return std::any_of(quantities.begin(), quantities.end(), [&](Quantity one) { return row.find(one) != nullptr; });
  };
  if (!any_row(has_figure)) return fmt::format("no column of {}", name(claim.subject));
  return "no two rows of one setting that it could compare";
}

std::string place_of(const TableReading& reading, std::size_t tables) {
  std::string words = reading.row->label;
  if (reading.base) words += " over " + reading.base->label;
  words += fmt::format(": {}", name(reading.quantity));
  return tables > 1 ? fmt::format("table {}, {}", reading.table->number, words) : words;
}

/// "4.9x", "79 %", "8.4 ms".
std::string shown_as(const ReadClaim& claim, Range value) {
  const Dimension dimension = claim.figure.unit.dimension;
  if (dimension == Dimension::ratio) return shown(value) + "x";
  if (dimension == Dimension::percent) return shown(scaled(value, 100)) + " %";
  const Unit unit = claim.figure.unit;
  return shown(scaled(value, 1 / unit.factor)) + (unit_name(unit).empty() ? "" : " " + unit_name(unit));
}

double distance(const ReadClaim& claim, const TableReading& reading) {
  return std::abs(middle(reading.value) - in_base_unit(claim.figure).value);
}

bool is_far_off(const ReadClaim& claim, const TableReading& reading) {
  const double said = in_base_unit(claim.figure).value;
  const double found = middle(reading.value);
  if (claim.is_order) return found < 0.9;
  if (claim.figure.unit.dimension == Dimension::percent)
    return std::abs(said - found) > (claim.subject == ClaimSubject::accuracy ? 0.003 : 0.04);
  return found <= 0 || said / found > 1.12 || found / said > 1.12;
}

JudgedClaim judged(const ReadClaim& claim, Tables tables) {
  JudgedClaim out;
  out.line = claim.line;
  out.text = claim.text;
  out.stated =
      claim.is_order ? claim.text : claim.figure.text.substr(0, claim.figure.text.size() - claim.figure.behind.size());
  while (out.stated.ends_with(' ')) out.stated.pop_back();
  const auto say = [&](ClaimVerdict verdict, std::string reason) {
    out.verdict = verdict;
    out.reason = std::move(reason);
    return out;
  };
  if (!claim.aside.empty()) return say(ClaimVerdict::aside, claim.aside);
  if (!claim.other.empty()) return say(ClaimVerdict::unbound, "compares with '" + claim.other + "', which no row is");
  const std::vector<TableReading> readings = readings_of(claim, tables);
  if (readings.empty()) return say(ClaimVerdict::unbound, why_unbound(claim, tables));
  const auto met = std::find_if(readings.begin(), readings.end(),
                                [&](const TableReading& one) { return overlap(allowed(claim), one.value); });
  const auto nearest = met != readings.end() ? met
                                             : std::min_element(readings.begin(), readings.end(),
                                                                [&](const TableReading& a, const TableReading& b) {
                                                                  return distance(claim, a) < distance(claim, b);
                                                                });
  out.bound_to = place_of(*nearest, tables.size());
  out.found = shown_as(claim, nearest->value);
  if (met != readings.end() || lies_between(claim, readings)) return say(ClaimVerdict::holds, "");
  if (std::string reason = otherwise(claim, readings, tables); !reason.empty())
    return say(ClaimVerdict::unbound, std::move(reason));
  out.is_far = is_far_off(claim, *nearest);
  out.table = nearest->table->number;
  return say(ClaimVerdict::contradicted, "");
}

}  // namespace

void judge_claims(std::span<PublishedTable> page) {
  std::vector<TextLine> prose;
  for (const PublishedTable& table : page) prose.insert(prose.end(), table.prose.begin(), table.prose.end());
  for (const ReadClaim& claim : read_claims(prose, page)) {
    JudgedClaim one = judged(claim, page);
    const auto owner =
        std::find_if(page.begin(), page.end(), [&](const PublishedTable& table) { return table.number == one.table; });
    (owner == page.end() ? page.front() : *owner).claims.push_back(std::move(one));
  }
}

}  // namespace assay
