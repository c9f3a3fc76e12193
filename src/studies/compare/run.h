#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "results/document.h"
#include "statistics/two_samples.h"

namespace assay {

/// What B is beside A.
enum class Relation : std::uint8_t { faster, slower, same, cannot_tell };
const char* name(Relation relation);

struct CompareOptions {
  double margin = 0.03;           ///< Differences up to this share count as none, ...
  std::optional<double> allowed;  ///< ... or up to this one where it is less. --fail-if-slower; absent: nothing fails.
  std::uint64_t seed = 1;         ///< Of the bootstrap.
};

/// The share up to which differences count as none: the lesser of margin and allowed.
double margin_of(const CompareOptions& options);

/// The same thing measured twice. Times in ms.
struct Comparison {
  std::string subject = {};
  std::vector<double> a_ms = {};
  std::vector<double> b_ms = {};
  std::string hindrance = {};  ///< Why the times say nothing, whatever they are; empty where they do.
  std::optional<Ratio> ratio =
      {};                      ///< Median of B over median of A: above 1, B is slower. Absent where either has no time.
  Drawn drawn = Drawn::apart;  ///< Tested by Wilcoxon's signed ranks where by_round, else by Mann-Whitney's U.
  RankTest test = {};
  double adjusted_p = 1;  ///< For the number of comparisons made together.
  double delta = 0;       ///< Cliff's.
  Relation relation = Relation::cannot_tell;
  std::string reason = {};                ///< Of cannot_tell.
  std::optional<std::int64_t> more = {};  ///< Further samples a side that would tell, if what is seen stays so.
  bool fails = false;                     ///< Slower than allowed, beyond doubt.
};

/// Fills all but subject and times; the hindrance where it finds one: nothing is computed of samples that are no times
/// (not above 0, not finite) or of more than 100,000 a side.
///
/// same: the ratio's 95 % interval lies within 1 ± margin_of(options). slower, faster: else, where it lies above or
/// below 1 and the rank test agrees at 5 % after adjusting for the number of comparisons (Benjamini & Hochberg). Else
/// cannot_tell. Fails: slower, and the interval lies above 1 + allowed.
void decide(std::vector<Comparison>& comparisons, Drawn drawn, const CompareOptions& options);

/// One side of a comparison.
struct Side {
  std::string name;
  std::vector<Record> records;
};
/// `text`: the number of a run in the store, or a JSON file of `bench --json`. Throws a user error for what is neither.
Side read_side(const std::string& text, const std::filesystem::path& store);

struct ComparisonReport {
  std::string a;
  std::string b;
  std::vector<Comparison> cells;
  std::vector<std::string> notes;  ///< What differs beside the times, what has no partner, how both were measured.
  bool fails() const;
};

/// Cells of both with the same subject (results/identity.h). Throws a user error that names a difference where no cell
/// has a partner. A cell that a side has more than once cannot be told.
ComparisonReport compare_sides(const Side& a, const Side& b, const CompareOptions& options);

struct InterleaveRequest {
  std::string a;  ///< Commands, as a shell takes them.
  std::string b;
  std::int64_t rounds = 10;
};
/// Runs both once untimed, then by turns A B B A ..., and compares the times of the whole processes, round by round.
/// Throws a user error for a command that fails, Error(interrupted) after an interrupt.
ComparisonReport compare_commands(const InterleaveRequest& request, const CompareOptions& options);

Document to_document(const ComparisonReport& report, const CompareOptions& options);

}  // namespace assay
