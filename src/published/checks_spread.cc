#include <algorithm>
#include <cmath>

#include "published/checks.h"

namespace assay {

void check_within_spread(const PublishedTable& table, Complaints& say) {
  for_pairs_with_baseline(table, [&](const auto&, const Observation& baseline, const Observation& row) {
    const auto duration = common_duration(baseline, row);
    if (!duration) return;
    const Measured* a = baseline.find(spread_of(*duration));
    const Measured* b = row.find(spread_of(*duration));
    if (!a || !b) return;
    const Measured& time = *row.find(*duration);
    const double difference = std::abs(time.figure.value - baseline.find(*duration)->figure.value);
    if (difference == 0 || difference >= std::max(a->figure.value, b->figure.value)) return;
    say.figure(
        time,
        fmt::format("{} and {} differ by less than either's spread: how many runs stand behind the means decides "
                    "whether that is a difference.",
                    row.label, baseline.label),
        fmt::format("{} ± {}, {} ± {}", shown(time), shown(b->figure.value), shown(*baseline.find(*duration)),
                    shown(a->figure.value)));
  });
}

void check_no_spread(const PublishedTable& table, Complaints& say) {
  bool has_time = false;
  bool has_spread = false;
  for (const Observation& row : table.rows) {
    for (const auto& [quantity, measured] : row.figures) {
      has_time = has_time || is_duration(quantity);
      has_spread = has_spread || measured.figure.spread || quantity == Quantity::count || quantity == Quantity::runs ||
                   (is_duration(static_cast<Quantity>(static_cast<int>(quantity) - 1)) && !is_duration(quantity));
    }
  }
  if (has_time && !has_spread)
    say.table("the table gives neither a spread nor the number of runs: no difference in it can be told from noise.",
              "");
}

}  // namespace assay
