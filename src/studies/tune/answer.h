#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "results/document.h"
#include "rules/choice.h"

namespace assay {

struct Tuning;

/// Why a point is taken though intervals tell it from no better one.
enum class TakenFor : std::uint8_t {
  figure,     ///< All others that keep the limit are told to take more.
  less_loss,  ///< It loses less than those that it is not told from.
  simpler     ///< It is one precision, and those that lose no more, as far as can be told, are mixes.
};

/// What the last timing says of the points, in their order.
struct TuneAnswer {
  std::vector<ChoiceRow> rows = {};       ///< For the aim; standings are those among the points that keep the limit.
  std::vector<ChoiceRow> times = {};      ///< Of a run, or of a token.
  std::optional<std::size_t> taken = {};  ///< Absent: none that keeps the limit may be chosen from.
  std::vector<std::size_t> tied = {};     ///< Those that nothing tells from the best one; the best and the taken too.
  TakenFor reason = TakenFor::figure;
};

/// By intervals, grades and findings as verdicts have them. Of points that nothing tells apart, the one that loses
/// least (KL on the rows that the search did not see) is taken; where intervals of losses overlap, a uniform precision
/// before a mix.
TuneAnswer answer_of(const Tuning& tuning, const Document& timed);

}  // namespace assay
