#include "studies/bench/outlook.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/units.h"
#include "measure/sampling.h"
#include "statistics/statistics.h"

namespace assay {

std::string too_few_rounds(const Outlook& outlook) {
  if (outlook.round_s <= 0 || outlook.subjects == 0) return {};
  constexpr auto needed = static_cast<double>(fewest_for_interval);
  const auto subjects = static_cast<double>(outlook.subjects);
  const double rounds = std::max(std::ceil((outlook.seconds * subjects - outlook.spent_s) / outlook.round_s), 1.0);
  if (rounds >= needed) return {};
  // Warming up takes its share of a larger budget, too.
  const double enough_s = std::ceil(needed * outlook.round_s / subjects / (1 - warm_up_share));
  return fmt::format(
      "a round takes {} s, so that --seconds {} leaves time for {:.0f}; {:.0f} give an interval, and without one every "
      "row has grade D: --seconds {:.0f} is enough",
      format_significant(outlook.round_s), format_significant(outlook.seconds), rounds, needed, enough_s);
}

}  // namespace assay
