#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "results/table.h"
#include "rules/choice.h"
#include "rules/range.h"
#include "rules/rule_tables.h"
#include "rules/verdict.h"

namespace assay {

// What a verdict is made of. Only for src/rules.

/// A row of a cell that a verdict is asked on.
struct VerdictRow {
  std::string name = {};           ///< As asked; the record's may have overrides behind it.
  const Record* record = nullptr;  ///< Null: the cell has none.
  std::string unusable = {};       ///< Why nothing follows from its figures; empty: they may be used.
  std::string uncounted = {};      ///< The same of its counts, which no grade of times takes from it.
  std::string energy_doubt = {};   ///< The same of its energy alone.
  std::size_t cell = 0;            ///< In which it was timed.
};

/// Rows that were measured alike, on one machine by one program.
struct VerdictCell {
  std::vector<VerdictRow> rows;  ///< One for each that was asked, in that order.
  const Record& any() const;     ///< What its rows share can be read from it.
};
/// Those that have one of the rows, in the order of their records.
std::vector<VerdictCell> verdict_cells(std::span<const std::string> rows, std::span<const VerdictSource> sources);

/// How much worse another row is than the best one: a ratio of what they take, or a difference.
struct Gain {
  double value = 0;
  std::optional<Range> range = {};  ///< Absent: no interval is known, and nothing is settled.
  const char* by = "";              ///< Where it comes from.
};

/// The `by` of rows whose times no rounds pair.
inline constexpr const char* measured_apart = "measured apart";

/// What a row is chosen for.
struct VerdictAim {
  const char* key;
  const char* unit;
  double alike;   ///< The gain of a row over itself: 1 of ratios, 0 of differences.
  double margin;  ///< Two rows whose whole interval lies within it are alike.
  /// With its ends, where it is no count. Absent where `lacks` says why.
  std::optional<Gain> (*figure)(const VerdictRow& row);
  std::string (*lacks)(const VerdictRow& row);
  std::optional<Gain> (*gain)(const VerdictRow& best, const VerdictRow& other);
  std::string (*figure_words)(const Record& row);
  const char* than;         ///< "{0} as fast as {1}": gain and other row.
  bool is_counted = false;  ///< What it goes by has no samples: a grade that rests on them says nothing of it.
};
std::span<const VerdictAim> aims();
const VerdictAim& aim_named(std::string_view key);

struct AimRow {
  const VerdictRow* row = nullptr;
  AimStanding standing = AimStanding::lacking;
  std::optional<Gain> gain = {};  ///< Over the best one.
  std::string reason = {};        ///< Why it is open or lacking.
};
struct AimChoice {
  const VerdictAim* aim = nullptr;
  const VerdictRow* best = nullptr;  ///< Null: no row has a figure.
  std::vector<AimRow> rows;          ///< The best one among them.
  /// Whether there were two to choose from, and their intervals decide.
  bool is_settled() const;
};
AimChoice choose(const VerdictAim& aim, std::span<const VerdictRow* const> rows);

/// A figure with its ends, as tables have it.
Table::Cell gain_cell(const std::optional<Gain>& gain);
/// "1.31x [1.27, 1.36]", "0.0370 nat [0.0310, 0.0430]": of a row that has a gain over the best one.
std::string gain_words(const VerdictAim& aim, const AimRow& row);

/// What a figure that is no time would have said of the times of two rows.
struct Proxy {
  const char* name;
  const char* words;  ///< "by bits alone"
  double claimed = 0;
};
std::vector<Proxy> proxies_of(const VerdictRow& reference, const VerdictRow& row);
/// How many times as fast as `reference` the row is.
std::optional<Gain> measured_speed(const VerdictRow& reference, const VerdictRow& row);

/// A paragraph, and the figures behind it.
struct VerdictPart {
  const char* scope = "";  ///< "cell", "batches", "places": between what its rows were chosen.
  std::string text = {};
  std::vector<AimChoice> choices = {};
};
/// Of each cell; of cells that differ in their batch alone, on throughput; of the same work in several places.
std::vector<VerdictPart> verdict_parts(const std::vector<VerdictCell>& cells);

Table verdict_table(const std::vector<VerdictPart>& parts);
/// What proxies claim of the rows of each cell beside its first that may be used, and what was measured.
Table proxies_table(const std::vector<VerdictCell>& cells);

/// The rows of a cell that may be used.
std::vector<const VerdictRow*> usable_rows(const VerdictCell& cell);

}  // namespace assay
