#include "studies/compare/run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "base/error.h"
#include "results/fields.h"
#include "results/identity.h"
#include "results/read_records.h"
#include "rules/rules.h"
#include "statistics/processes.h"
#include "statistics/rounds.h"

namespace assay {
namespace {

constexpr std::size_t most_samples = 100'000;  // A bootstrap draws each of them thousands of times.
constexpr double longest_ms = 1e12;            // 31 years
constexpr double shortest_ms = 1e-9;

/// Why these are no times to compute with; empty where they are.
std::string unsound(const std::vector<double>& times_ms, const char* side) {
  if (times_ms.size() > most_samples) {
    return fmt::format("{} has {} samples, more than the {} that are compared", side, times_ms.size(), most_samples);
  }
  for (const double ms : times_ms) {
    if (!(ms >= shortest_ms && ms <= longest_ms)) return fmt::format("a sample of {} lasts {} ms: no time", side, ms);
  }
  return "";
}

/// Of the rounds that both have. Logarithms: what slows a round down multiplies both of its times.
std::vector<double> differences_of_rounds(const Comparison& cell) {
  std::vector<double> differences(std::min(cell.a_ms.size(), cell.b_ms.size()));
  for (std::size_t i = 0; i < differences.size(); ++i) differences[i] = std::log(cell.b_ms[i] / cell.a_ms[i]);
  return differences;
}

void measure_difference(Comparison& cell, Timed timed, const CompareOptions& options) {
  std::string fault = unsound(cell.a_ms, "A");
  if (fault.empty()) fault = unsound(cell.b_ms, "B");
  if (cell.hindrance.empty()) cell.hindrance = fault;
  if (!fault.empty() || cell.a_ms.empty() || cell.b_ms.empty()) return;
  const bool by_turns = timed == Timed::by_turns;
  cell.timed = timed;
  cell.ratio = by_turns                     ? ratio_of_rounds(cell.a_ms, cell.b_ms, 1 - options.level)
               : cell.of == TimeOf::process ? ratio_of_processes(cell.a_ms, cell.b_ms)
                                            : ratio_of_medians(cell.a_ms, cell.b_ms, options.seed);
  cell.test = by_turns ? wilcoxon(differences_of_rounds(cell)) : mann_whitney(cell.a_ms, cell.b_ms);
  cell.delta = cliffs_delta(cell.a_ms, cell.b_ms);
}

constexpr double never = std::numeric_limits<double>::infinity();

/// How many times as many samples bring an end of an interval, which shrinks with their root, from `reach` to `room`
/// beside the ratio.
double growth(double reach, double room) {
  return room > 0 ? std::pow(std::max(reach, 0.0) / room, 2) : never;
}

double growth_until_same(const Ratio& ratio, double margin) {
  return std::max(growth(ratio.value - ratio.interval->low, ratio.value - (1 - margin)),
                  growth(ratio.interval->high - ratio.value, 1 + margin - ratio.value));
}

/// Clear of 1, and with a p that is small enough: its z grows with the root of the samples.
double growth_until_different(const Comparison& cell, double level) {
  const Ratio& ratio = *cell.ratio;
  const double reach = ratio.value > 1 ? ratio.value - ratio.interval->low : ratio.interval->high - ratio.value;
  const double needed_p = level * std::min(1.0, cell.test.p / cell.adjusted_p);
  return std::max(growth(reach, std::abs(ratio.value - 1)), growth(z_of_p(needed_p), z_of_p(cell.test.p)));
}

/// Absent where none would, or more than anybody takes.
std::optional<std::int64_t> samples_that_would_tell(const Comparison& cell, const CompareOptions& options) {
  const auto samples = static_cast<double>(std::min(cell.a_ms.size(), cell.b_ms.size()));
  const double times =
      std::min(growth_until_same(*cell.ratio, margin_of(options)), growth_until_different(cell, options.level));
  const double more = std::ceil(samples * times - samples);
  if (!(more < 1e9)) return std::nullopt;
  return std::max<std::int64_t>(1, std::llround(more));
}

void decide_one(Comparison& cell, const CompareOptions& options) {
  const auto cannot_tell = [&](std::string reason) { cell.reason = std::move(reason); };
  if (!cell.hindrance.empty()) return cannot_tell(cell.hindrance);
  if (!cell.ratio) return cannot_tell("one side has no samples");
  if (!cell.ratio->interval) {
    const std::size_t fewest = std::min(cell.a_ms.size(), cell.b_ms.size());
    if (fewest < fewest_for_interval) cell.more = static_cast<std::int64_t>(fewest_for_interval - fewest);
    return cannot_tell(fmt::format("{} samples give no interval", fewest));
  }
  const Interval& interval = *cell.ratio->interval;
  const double margin = margin_of(options);
  const bool is_clear = interval.low > 1 || interval.high < 1;
  if (interval.low >= 1 - margin && interval.high <= 1 + margin) {
    cell.relation = Relation::same;
  } else if (is_clear && cell.adjusted_p < options.level) {
    cell.relation = interval.low > 1 ? Relation::slower : Relation::faster;
  } else {
    cell.more = samples_that_would_tell(cell, options);
    cannot_tell(is_clear ? fmt::format("the interval lies clear of 1, but p is not below {:.2g}", options.level)
                         : "the interval holds both a difference and none");
  }
  cell.fails = options.allowed && cell.relation == Relation::slower && interval.low > 1 + *options.allowed;
}

/// Why these two times are no evidence; empty where they are.
std::string hindrance(const Record& a, const Record& b) {
  for (const auto& [side, record] : {std::pair{"A", &a}, std::pair{"B", &b}}) {
    if (record->outcome.status != Status::ok) {
      return fmt::format("{} is {}: {}", side, name(record->outcome.status),
                         record->outcome.reason.value_or("no reason was given"));
    }
    if (record->grade.trust == Trust::d) return fmt::format("{} is of grade D", side);
  }
  return "";
}

using Subjects = std::map<std::string, std::vector<const Record*>>;

Subjects by_subject(const Side& side) {
  Subjects found;
  for (const Record& record : side.records) found[subject_key(record)].push_back(&record);
  return found;
}

/// Of rounds that are alike in what their process is only one figure is independent: its median.
bool are_both_of_processes(const Latency& a, const Latency& b) {
  return are_of_processes(a.raw_ms, a.process_samples) && are_of_processes(b.raw_ms, b.process_samples);
}

/// The same cell of both sides. Which of several would be meant, nobody knows: then no times are taken.
Comparison compared(const std::vector<const Record*>& a, const std::vector<const Record*>& b) {
  for (const auto& [side, records] : {std::pair{"A", &a}, std::pair{"B", &b}}) {
    if (records->size() == 1) continue;
    const std::string hindrance = fmt::format("{} has it {} times; compare one run with one", side, records->size());
    return {.subject = subject_words(*a.front()), .hindrance = hindrance};
  }
  const Latency& of_a = *a.front()->latency;
  const Latency& of_b = *b.front()->latency;
  const bool of_processes = are_both_of_processes(of_a, of_b);
  return {.subject = subject_words(*a.front()),
          .a_ms = of_processes ? medians_of_processes(of_a.raw_ms, of_a.process_samples) : of_a.raw_ms,
          .b_ms = of_processes ? medians_of_processes(of_b.raw_ms, of_b.process_samples) : of_b.raw_ms,
          .of = of_processes ? TimeOf::process : TimeOf::round,
          .hindrance = hindrance(*a.front(), *b.front())};
}

/// Where and by what they were measured: once where all cells differ alike, else with the cells.
struct PlaceDifferences {
  std::vector<std::pair<std::string, std::vector<std::string>>> subjects_of;
  std::size_t cells = 0;

  void add(const Record& a, const Record& b) {
    ++cells;
    const std::string difference = identity_difference(a, b, Aspect::place);
    if (difference.empty()) return;
    const auto same = [&](const auto& one) { return one.first == difference; };
    auto found = std::find_if(subjects_of.begin(), subjects_of.end(), same);
    if (found == subjects_of.end()) found = subjects_of.insert(found, {difference, {}});
    found->second.push_back(subject_words(a));
  }

  void note(std::vector<std::string>& notes) const {
    for (const auto& [difference, subjects] : subjects_of) {
      const bool is_everywhere = subjects.size() == cells;
      notes.push_back(fmt::format("A and B differ in: {}{}", difference,
                                  is_everywhere ? "" : fmt::format(" (of {})", fmt::join(subjects, "; "))));
    }
  }
};

void note_without_partner(const Side& side, const Side& other, const char* letter, std::vector<std::string>& notes) {
  const Subjects partners = by_subject(other);
  for (const Record& record : side.records) {
    if (partners.count(subject_key(record)) == 0) {
      notes.push_back(fmt::format("only in {}: {}", letter, subject_words(record)));
    }
  }
}

[[noreturn]] void fail_unmatched(const Side& a, const Side& b) {
  if (a.records.empty() || b.records.empty()) {
    fail_user("{}: has no records to compare", a.records.empty() ? a.name : b.name);
  }
  fail_user("{} and {}: have no cell in common; the first ones differ in {}", a.name, b.name,
            identity_difference(a.records.front(), b.records.front(), Aspect::subject));
}

}  // namespace

const char* name(Relation relation) {
  constexpr const char* names[] = {"faster", "slower", "same", "cannot tell"};
  return names[static_cast<std::size_t>(relation)];
}

double margin_of(const CompareOptions& options) {
  return std::min(options.margin, options.allowed.value_or(options.margin));
}

void decide(std::vector<Comparison>& comparisons, Timed timed, const CompareOptions& options) {
  std::vector<double> p;
  for (Comparison& cell : comparisons) {
    measure_difference(cell, timed, options);
    if (cell.ratio && cell.hindrance.empty()) p.push_back(cell.test.p);
  }
  const std::vector<double> adjusted = benjamini_hochberg(p);
  std::size_t next = 0;
  for (Comparison& cell : comparisons) {
    if (cell.ratio && cell.hindrance.empty()) cell.adjusted_p = adjusted[next++];
    decide_one(cell, options);
  }
}

Side read_side(const std::string& text, const std::filesystem::path& store_file) {
  NamedRecords read = read_records(text, store_file);
  return {read.name, believed(std::move(read.document)).records};
}

bool ComparisonReport::fails() const {
  return std::any_of(cells.begin(), cells.end(), [](const Comparison& cell) { return cell.fails; });
}

ComparisonReport compare_sides(const Side& a, const Side& b, const CompareOptions& options) {
  ComparisonReport report{.a = a.name, .b = b.name, .cells = {}, .notes = {}};
  Subjects of_a = by_subject(a);
  const Subjects of_b = by_subject(b);
  PlaceDifferences places;
  for (const Record& record : a.records) {
    const std::string subject = subject_key(record);
    const auto own = of_a.find(subject);
    const auto partner = of_b.find(subject);
    if (own == of_a.end() || partner == of_b.end()) continue;
    report.cells.push_back(compared(own->second, partner->second));
    places.add(record, *partner->second.front());
    of_a.erase(own);  // One cell, however often it is there.
  }
  places.note(report.notes);
  if (report.cells.empty()) fail_unmatched(a, b);
  note_without_partner(a, b, "A", report.notes);
  note_without_partner(b, a, "B", report.notes);
  report.notes.push_back(
      "A and B were measured one after the other: what the machine did meanwhile is in the difference; "
      "--interleave is free of it");
  decide(report.cells, Timed::apart, options);
  return report;
}

}  // namespace assay
