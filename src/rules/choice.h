#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "results/states.h"
#include "results/table.h"
#include "rules/verdict.h"

namespace assay {

// What a verdict says of one aim, for a study that gives advice of its own: by the same intervals, grades and findings.

/// What the intervals say of a row beside the best one.
enum class AimStanding : std::uint8_t { taken, alike, worse, open, lacking };
const char* name(AimStanding standing);

/// For what a row is chosen, of which records.
struct ChoiceQuestion {
  std::string_view aim = "latency";  ///< As verdicts have it: "latency", "energy", "size", ...
  Mode mode = Mode::inference;
};

/// What a row takes, and how it stands. `figure` and `words` are there, too, where it may not be chosen from.
struct ChoiceRow {
  std::string name = {};
  AimStanding standing = AimStanding::lacking;  ///< `taken`: the best by its figure.
  Table::Cell figure = {};                      ///< In the aim's unit, with its interval; absent with why.
  std::string words = {};                       ///< "26.4 ms"; empty without a figure.
  std::string against_best =
      {};                   ///< "1.31x [1.27, 1.36]" of what the best takes; empty of the best, and where unknown.
  std::string reason = {};  ///< Why it is open, or may not be chosen from.

  /// Whether nothing tells it from the best one, or it is that one.
  bool is_tied() const {
    return standing == AimStanding::taken || standing == AimStanding::alike || standing == AimStanding::open;
  }
  /// In the aim's unit.
  std::optional<double> number() const;
};

/// A row for each of `names` (precisions, "recipe:NAME"), in their order, of the first cell that has one in that mode.
std::vector<ChoiceRow> choice_of(const ChoiceQuestion& question, std::span<const std::string> names,
                                 const VerdictSource& source);

}  // namespace assay
