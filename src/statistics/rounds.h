#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/random.h"
#include "statistics/statistics.h"

namespace assay {

// Two subjects, a and b, timed by turns: each once a round.

/// Which of the two goes first in the next round: a toss of a coin. Where both take the same time, another toss would
/// have changed the sign of a round's log(b/a) and nothing else, however rounds depend on each other (drift, bursts of
/// load, what stands first in a round). So the signs are tosses too, and a test by them keeps its error rate whatever
/// the noise (Fisher 1935, section 21; Lehmann 1975, 3.1). A fixed order such as A B B A does not: load that fades over
/// some runs makes its log ratios alike in pairs of rounds.
class TossedOrder {
 public:
  explicit TossedOrder(std::uint64_t seed) : coin_(seed) {}
  bool is_a_first() { return coin_.below(2) == 0; }

 private:
  Random coin_;
};

/// The ratio b / a within a round: exp of the median of the Walsh averages (d[i] + d[j]) / 2, i <= j, of the rounds'
/// d = log(b/a) (Hodges & Lehmann 1963). Interval: the k-th Walsh averages from both ends, with the largest k for which
/// 2 P(W < k) <= 1 - confidence (Lehmann 1975, 4.4). It lies clear of 1 where wilcoxon(d).p is at most that, and like
/// the test it assumes nothing of the noise but a tossed order. Absent where there are too few rounds for the
/// confidence. Times beyond the shorter series are left out; all must be above 0. Asserts that there is a round.
Ratio ratio_of_rounds(std::span<const double> a, std::span<const double> b, double confidence = 0.95);

}  // namespace assay
