#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "studies/compare/run.h"

namespace assay {
namespace {

/// Of the times of one side; nothing of them is said where they say nothing.
Table::Cell median_time(const Comparison& cell, const std::vector<double>& times_ms) {
  return cell.ratio ? Table::Cell(median(times_ms)) : Table::Cell(Absent{cell.reason});
}

Table::Cell ratio_of(const Comparison& cell) {
  if (!cell.ratio) return Absent{cell.reason};
  if (!cell.ratio->interval) return cell.ratio->value;
  return Estimate{cell.ratio->value, cell.ratio->interval->low, cell.ratio->interval->high};
}

const char* test_name(const Comparison& cell) {
  return cell.timed == Timed::by_turns ? "Wilcoxon signed-rank" : "Mann-Whitney";
}

std::vector<ColumnOf<Comparison>> comparison_columns(const CompareOptions& options) {
  using Cell = Table::Cell;
  constexpr auto data = Detail::data;
  constexpr auto exact = Notation::exact;
  const auto samples = [](const std::vector<double>& times) { return static_cast<std::int64_t>(times.size()); };
  return {
      {{.key = "subject", .role = Table::Role::label}, [](const Comparison& c) -> Cell { return c.subject; }},
      {{.key = "verdict"}, [](const Comparison& c) -> Cell { return name(c.relation); }},
      {{.key = "reason"}, [](const Comparison& c) { return text_or_absent(c.reason); }},
      {{.key = "a_median_ms", .title = "A", .unit = "ms"}, [](const Comparison& c) { return median_time(c, c.a_ms); }},
      {{.key = "b_median_ms", .title = "B", .unit = "ms"}, [](const Comparison& c) { return median_time(c, c.b_ms); }},
      {{.key = "a_samples", .title = "n of A", .notation = Notation::count},
       [samples](const Comparison& c) -> Cell { return samples(c.a_ms); }},
      {{.key = "b_samples", .title = "n of B", .notation = Notation::count},
       [samples](const Comparison& c) -> Cell { return samples(c.b_ms); }},
      {{.key = "ratio", .title = "B/A", .notation = Notation::fixed, .more_keys = {"ratio_low", "ratio_high"}},
       ratio_of},
      {{.key = "test", .detail = data}, [](const Comparison& c) -> Cell { return test_name(c); }},
      {{.key = "statistic", .title = "U or W", .notation = Notation::fixed, .digits = 1},
       [](const Comparison& c) -> Cell { return c.test.statistic; }},
      {{.key = "p", .notation = exact, .detail = data}, [](const Comparison& c) -> Cell { return c.test.p; }},
      {{.key = "adjusted_p",
        .title = "p",
        .meaning = "adjusted for the number of comparisons (Benjamini-Hochberg)",
        .notation = Notation::general,
        .digits = 2},
       [](const Comparison& c) -> Cell { return c.adjusted_p; }},
      {{.key = "is_exact", .title = "p exact"}, [](const Comparison& c) -> Cell { return c.test.is_exact; }},
      {{.key = "cliffs_delta",
        .title = "delta",
        .meaning = "Cliff's",
        .notation = Notation::fixed,
        .digits = 2,
        .sign = Sign::always},
       [](const Comparison& c) -> Cell { return c.delta; }},
      {{.key = "more_samples",
        .title = "more samples would tell",
        .meaning = "in about half of the cases, if what is seen stays so",
        .notation = Notation::count},
       [](const Comparison& c) { return or_absent(c.more); }},
      {{.key = "fails",
        .meaning = "slower than allowed, beyond doubt",
        .detail = options.allowed ? Detail::brief : data},
       [](const Comparison& c) -> Cell { return c.fails; }},
  };
}

std::string percent(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

std::string ratio_words(const ComparisonReport& report) {
  if (!report.turns) {
    const bool of_processes = std::any_of(report.cells.begin(), report.cells.end(),
                                          [](const Comparison& cell) { return cell.of == TimeOf::process; });
    return fmt::format(
        "B/A: ratio of medians with its 95 % interval (bootstrap{}); above 1, B is slower. U, p: "
        "Mann-Whitney",
        of_processes ? "; of cells timed in several processes Welch's t over their medians" : "");
  }
  return fmt::format(
      "B/A: within a round, with its {:.4g} % interval (Hodges-Lehmann); above 1, B is slower. W, p: Wilcoxon's signed "
      "ranks of the rounds",
      100 * (1 - report.turns->level));
}

/// What is predicted is a median, and no promise.
std::string more_words(const ComparisonReport& report) {
  const bool any = std::any_of(report.cells.begin(), report.cells.end(), [](const Comparison& c) { return c.more; });
  return any ? " More samples would tell: so many, in about half of the cases, if what is seen stays so." : "";
}

std::string legend_of(const ComparisonReport& report, const CompareOptions& options) {
  return fmt::format(
      "{}; p adjusted for {} comparisons (Benjamini-Hochberg); delta: Cliff's. same: the interval lies within 1 ± {}; "
      "faster, slower: it lies clear of 1, and p is below {:.2g}.{}{}",
      ratio_words(report), report.cells.size(), percent(margin_of(options)),
      report.turns ? report.turns->level : options.level, more_words(report),
      options.allowed ? fmt::format(" fails: slower by more than the {} allowed.", percent(*options.allowed)) : "");
}

Table comparison_facts(const ComparisonReport& report, const CompareOptions& options) {
  Table facts;
  const auto fact = [&](const char* key, Detail detail, Table::Cell value) {
    const bool is_side = detail == Detail::brief;
    const std::string title = is_side ? std::string(key) == "a" ? "A" : "B" : "";
    add_fact(facts, {.key = key, .title = title, .notation = Notation::exact, .detail = detail}, std::move(value));
  };
  fact("a", Detail::brief, report.a);
  fact("b", Detail::brief, report.b);
  fact("margin", Detail::data, margin_of(options));
  fact("allowed", Detail::data, or_absent(options.allowed));
  fact("fails", Detail::data, report.fails());
  if (!report.turns) return facts;
  const Turns& turns = *report.turns;
  fact("rounds", Detail::data, turns.rounds);
  fact("stopped_by", Detail::data, turns.stopped_by);
  fact("looks", Detail::data, turns.looks);
  fact("level", Detail::data, turns.level);
  fact("order_seed", Detail::data, turns.order_seed);
  return facts;
}

}  // namespace

Document to_document(const ComparisonReport& report, const CompareOptions& options) {
  Table cells{.key = "cells", .legend = legend_of(report, options)};
  return {.subject = {.schema = "assay-comparison-1",
                      .title = fmt::format("{} compared with {}", report.b, report.a),
                      .facts = comparison_facts(report, options)},
          .tables = {filled(std::move(cells), comparison_columns(options), report.cells)},
          .sentences = {{.texts = report.notes}}};
}

}  // namespace assay
