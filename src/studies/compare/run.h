#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "results/document.h"
#include "statistics/two_samples.h"

namespace assay {

/// What B is beside A.
enum class Relation : std::uint8_t { faster, slower, same, cannot_tell };
const char* name(Relation relation);

/// How two series of times came about, which decides what they are tested by.
enum class Timed : std::uint8_t {
  apart,    ///< One after the other: the ratio of medians by bootstrap; Mann-Whitney's U.
  by_turns  ///< Each once a round, in a tossed order: the ratio within rounds; Wilcoxon's signed ranks of its
            ///< logarithm.
};

struct CompareOptions {
  double margin = 0.03;           ///< Differences up to this share count as none, ...
  std::optional<double> allowed;  ///< ... or up to this one where it is less. --fail-if-slower; absent: nothing fails.
  std::uint64_t seed = 1;         ///< Of the bootstrap.
  double level = 0.05;            ///< Two-sided, of the test; by turns of the interval too. Apart, that is one of 95 %.
};

/// The share up to which differences count as none: the lesser of margin and allowed.
double margin_of(const CompareOptions& options);

/// What each time is of: a round, or a process, whose median it is.
enum class TimeOf : std::uint8_t { round, process };

/// The same thing measured twice. Times in ms.
struct Comparison {
  std::string subject = {};
  std::vector<double> a_ms = {};
  std::vector<double> b_ms = {};
  TimeOf of = TimeOf::round;
  std::string hindrance = {};       ///< Why the times say nothing, whatever they are; empty where they do.
  std::optional<Ratio> ratio = {};  ///< B over A, as `timed` says: above 1, B is slower. Absent where one has no time.
  Timed timed = Timed::apart;
  RankTest test = {};
  double adjusted_p = 1;  ///< For the number of comparisons made together.
  double delta = 0;       ///< Cliff's.
  Relation relation = Relation::cannot_tell;
  std::string reason = {};                ///< Of cannot_tell.
  std::optional<std::int64_t> more = {};  ///< Further samples a side that would tell in half of the cases: a median,
                                          ///< and only if the ratio and the noise seen are the true ones.
  bool fails = false;                     ///< Slower than allowed, beyond doubt.
};

/// Fills all but subject and times; the hindrance where it finds one: nothing is computed of samples that are no times
/// (not above 0, not finite) or of more than 100,000 a side.
///
/// same: the ratio's interval lies within 1 ± margin_of(options). slower, faster: else, where it lies above or below 1
/// and the rank test agrees at options.level after adjusting for the number of comparisons (Benjamini & Hochberg). Else
/// cannot_tell. Fails: slower, and the interval lies above 1 + allowed.
void decide(std::vector<Comparison>& comparisons, Timed timed, const CompareOptions& options);

/// One side of a comparison.
struct Side {
  std::string name;
  std::vector<Record> records;
};
/// `text`: the number of a run in the store, or a JSON file of `bench --json`. Throws a user error for what is neither.
Side read_side(const std::string& text, const std::filesystem::path& store);

/// How a comparison by turns went.
struct Turns {
  std::uint64_t order_seed = 0;
  std::int64_t rounds = 0;
  const char* stopped_by = "rounds";     ///< "rounds": as many as asked. Until sure: "verdict" or "budget".
  std::vector<std::int64_t> looks = {};  ///< Rounds after which a verdict was sought; the last one is what is told.
  double level = 0.05;                   ///< Of the last look.
};

struct ComparisonReport {
  std::string a;
  std::string b;
  std::vector<Comparison> cells;
  std::vector<std::string> notes;  ///< What differs beside the times, what has no partner, how both were measured.
  std::optional<Turns> turns = {};
  bool fails() const;
};

/// Cells of both with the same subject (results/identity.h). Throws a user error that names a difference where no cell
/// has a partner. A cell that a side has more than once cannot be told.
ComparisonReport compare_sides(const Side& a, const Side& b, const CompareOptions& options);

struct InterleaveRequest {
  std::string a;  ///< Commands, as a shell takes them.
  std::string b;
  std::int64_t rounds = 10;
  std::optional<double> budget_s = {};           ///< --until-sure: as many rounds as a verdict takes, within this time.
  std::optional<std::uint64_t> order_seed = {};  ///< Of the order within rounds; absent: drawn anew.
};

/// What is timed by turns, and by which clock the budget goes.
struct TimedByTurns {
  std::function<double()> a_ms;
  std::function<double()> b_ms;
  std::function<double()> now_s;
};
/// Runs both once untimed, then each once a round in a tossed order, and compares them round by round.
///
/// With a budget, after 10 rounds and then after every half as many more it looks for a verdict, and ends where one is
/// sure: not cannot_tell, and where a share is allowed, the interval does not hold it. When the next round would end
/// beyond the budget it looks for the last time. The levels of the looks (statistics/group_sequential.h; time is what
/// is spent) keep the chance of a false verdict at any of them at options.level.
ComparisonReport compare_by_turns(const TimedByTurns& timed, const InterleaveRequest& request,
                                  const CompareOptions& options);

/// The same of the times of whole processes. Throws a user error for a command that fails, Error(interrupted) after an
/// interrupt.
ComparisonReport compare_commands(const InterleaveRequest& request, const CompareOptions& options);

Document to_document(const ComparisonReport& report, const CompareOptions& options);

}  // namespace assay
