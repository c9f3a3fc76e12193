#include "experiments/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "results/fields.h"
#include "results/identity.h"
#include "results/store.h"

namespace assay {
namespace {

constexpr double doubt = 0.05;

void measure_difference(Comparison& cell, Drawn drawn, std::uint64_t seed) {
  if (cell.a_ms.empty() || cell.b_ms.empty()) return;
  cell.ratio = ratio_of_medians(cell.a_ms, cell.b_ms, drawn, seed);
  cell.test = mann_whitney(cell.a_ms, cell.b_ms);
  cell.delta = cliffs_delta(cell.a_ms, cell.b_ms);
}

/// An interval shrinks with the root of the samples: until it lies within the margin, or clear of 1, whichever is
/// nearer.
std::int64_t samples_that_would_tell(const Comparison& cell, double margin) {
  const auto samples = static_cast<double>(std::min(cell.a_ms.size(), cell.b_ms.size()));
  const double distance = std::abs(cell.ratio->value - 1);
  const double enough = std::max(distance, margin - distance);
  const double half_width = (cell.ratio->interval->high - cell.ratio->interval->low) / 2;
  return std::max<std::int64_t>(1, std::llround(std::ceil(samples * std::pow(half_width / enough, 2) - samples)));
}

void decide_one(Comparison& cell, const CompareOptions& options) {
  const auto cannot_tell = [&](std::string reason) { cell.reason = std::move(reason); };
  if (!cell.hindrance.empty()) return cannot_tell(cell.hindrance);
  if (!cell.ratio) return cannot_tell("one side has no samples");
  if (!cell.ratio->interval) {
    const std::size_t fewest = std::min(cell.a_ms.size(), cell.b_ms.size());
    cell.more = static_cast<std::int64_t>(fewest_for_interval - fewest);
    return cannot_tell(fmt::format("{} samples give no interval", fewest));
  }
  const Interval& interval = *cell.ratio->interval;
  if (interval.low >= 1 - options.margin && interval.high <= 1 + options.margin) {
    cell.relation = Relation::same;
  } else if (cell.adjusted_p < doubt && (interval.low > 1 || interval.high < 1)) {
    cell.relation = interval.low > 1 ? Relation::slower : Relation::faster;
  } else {
    cell.more = samples_that_would_tell(cell, options.margin);
    cannot_tell("the interval holds both a difference and none");
  }
  const bool is_significant = cell.adjusted_p < doubt;
  cell.fails = options.allowed && is_significant && interval.low > 1 + *options.allowed;
}

std::vector<Record> records_of_file(const std::string& file) {
  const Json document = parse_json(read_file(file), file);
  const auto records = document.is_object() ? document.find("records") : document.end();
  if (!document.is_object() || records == document.end() || !records->is_array()) {
    fail_user("{}: has no records; it is not what --json writes", file);
  }
  std::vector<Record> all;
  for (const Json& record : *records) all.push_back(record_of_any_version(record, file));
  return all;
}

bool is_number(const std::string& text) {
  return !text.empty() && text.size() < 10 && text.find_first_not_of("0123456789") == std::string::npos;
}

/// Why these two times are no evidence; empty where they are.
std::string hindrance(const Record& a, const Record& b) {
  for (const auto& [side, record] : {std::pair{"A", &a}, std::pair{"B", &b}}) {
    if (record->status != Status::ok) {
      return fmt::format("{} is {}: {}", side, name(record->status), record->reason.value_or("no reason was given"));
    }
    if (record->trust == "D") return fmt::format("{} is of grade D", side);
  }
  return "";
}

std::map<std::string, const Record*> by_subject(const Side& side) {
  std::map<std::string, const Record*> found;
  for (const Record& record : side.records) found[subject_key(record)] = &record;
  return found;
}

void note_difference(const Record& a, const Record& b, std::vector<std::string>& notes) {
  const std::string difference = identity_difference(a, b, Aspect::place);
  if (!difference.empty()) notes.push_back("A and B differ in: " + difference);
}

void note_without_partner(const Side& side, const Side& other, const char* letter, std::vector<std::string>& notes) {
  const auto partners = by_subject(other);
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

void decide(std::vector<Comparison>& comparisons, Drawn drawn, const CompareOptions& options) {
  std::vector<double> p;
  for (Comparison& cell : comparisons) {
    measure_difference(cell, drawn, options.seed);
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
  if (!is_number(text)) return {text, records_of_file(text)};
  const Store store(store_file, Access::read);
  const std::int64_t id = std::stoll(text);
  if (!store.run(id)) fail_user("{}: has no run {}; assay history lists them", store_file.string(), id);
  Side side{fmt::format("run {}", id), {}};
  Filter filter;
  filter.run = id;
  for (StoredRecord& stored : store.find(filter)) side.records.push_back(std::move(stored.record));
  return side;
}

bool ComparisonReport::fails() const {
  return std::any_of(cells.begin(), cells.end(), [](const Comparison& cell) { return cell.fails; });
}

ComparisonReport compare_sides(const Side& a, const Side& b, const CompareOptions& options) {
  ComparisonReport report{a.name, b.name, {}, {}};
  const auto partners = by_subject(b);
  const Record* first = nullptr;
  for (const Record& record : a.records) {
    const auto found = partners.find(subject_key(record));
    if (found == partners.end()) continue;
    const Record& other = *found->second;
    report.cells.push_back({subject_words(record), record.raw_ms, other.raw_ms, hindrance(record, other)});
    if (first == nullptr) note_difference(*(first = &record), other, report.notes);
  }
  if (report.cells.empty()) fail_unmatched(a, b);
  note_without_partner(a, b, "A", report.notes);
  note_without_partner(b, a, "B", report.notes);
  report.notes.push_back(
      "A and B were measured one after the other: what the machine did meanwhile is in the difference; "
      "--interleave is free of it");
  decide(report.cells, Drawn::apart, options);
  return report;
}

}  // namespace assay
