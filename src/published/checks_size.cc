#include <cmath>

#include "published/checks.h"
#include "published/row_figures.h"

namespace assay {
namespace {

void say_size(const Observation& baseline, const Observation& row, double ratio, Complaints& say) {
  const PrecisionName precision = row.precision.precision;
  const Measured& size = *row.find(Quantity::size);
  const Measured& base = *baseline.find(Quantity::size);
  const bool is_whole = std::abs(ratio - 1) < 0.06 && stored_bits(precision) < 32;
  const std::string expected = fmt::format("{}x", shown(stored_bits(precision) / 32.0));
  say.figure(size,
             fmt::format("{} stores {}, {} of {}'s {}, where {} weights take {}{}.", row.label, shown(size),
                         shown(ratio), baseline.label, shown(base), name(precision), expected,
                         is_whole ? ": the weights are still stored in 32 bits" : ""),
             fmt::format("{} / {} = {}", shown(size), shown(base), shown(ratio)),
             is_whole              ? Severity::high
             : is_mixed(precision) ? Severity::low
                                   : Severity::medium);
}

template <typename Check>
void for_sizes(const PublishedTable& table, Check&& check) {
  for (const auto& group : table.groups()) {
    const Observation* baseline = baseline_of(group);
    if (!baseline || !baseline->find(Quantity::size) || baseline->find(Quantity::size)->figure.value <= 0) continue;
    for (const Observation* row : group) {
      if (row == baseline || stored_bits(row->precision.precision) == 0 || !row->find(Quantity::size)) continue;
      check(*baseline, *row, row->find(Quantity::size)->figure.value / baseline->find(Quantity::size)->figure.value);
    }
  }
}

}  // namespace

void check_size_dtype(const PublishedTable& table, Complaints& say) {
  for_sizes(table, [&](const Observation& baseline, const Observation& row, double ratio) {
    const int bits = stored_bits(row.precision.precision);
    const bool is_larger = bits == 16 && ratio > 1.02;
    if (contains(size_share(bits).printed, ratio) || is_larger) return;
    say_size(baseline, row, ratio, say);
  });
}

void check_size_16_bit(const PublishedTable& table, Complaints& say) {
  for_sizes(table, [&](const Observation& baseline, const Observation& row, double ratio) {
    if (stored_bits(row.precision.precision) != 16 || ratio <= 1.02) return;
    const Measured& size = *row.find(Quantity::size);
    say.figure(size,
               fmt::format("a 16-bit model of {} is larger than {}'s {}.", shown(size), baseline.label,
                           shown(*baseline.find(Quantity::size))),
               fmt::format("{} / {} = {}", shown(size), shown(*baseline.find(Quantity::size)), shown(ratio)));
  });
}

void check_size_parameters(const PublishedTable& table, Complaints& say) {
  for (const Observation& row : table.rows) {
    const auto size = row.absolute(Quantity::size);
    const double bits = stored_bits(row.precision.precision);
    const RowFigures figures = figures_of(table, row);
    const KnownFigure* known = figures.find(Quantity::parameters);
    const double parameters = known ? middle(known->range) : 0;
    if (!size || bits == 0 || parameters <= 0) continue;
    say.relation_tested();
    const double expected = parameters * bits / 8;
    if (0.85 * expected * known->range.low / parameters <= size->high && size->low <= 4.5 * parameters) continue;
    const Measured& about = *row.find(Quantity::size);
    say.figure(
        about,
        fmt::format("{} parameters in {} bits take {}, not {}.", format_count(static_cast<std::int64_t>(parameters)),
                    shown(bits), format_bytes(expected), shown(about)),
        fmt::format("{} x {} bytes", format_count(static_cast<std::int64_t>(parameters)), shown(bits / 8)),
        size->high < 0.8 * expected ? Severity::high : Severity::medium);
  }
}

}  // namespace assay
