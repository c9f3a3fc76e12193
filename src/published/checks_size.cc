#include <cmath>

#include "published/checks.h"
#include "published/row_figures.h"

namespace assay {
namespace {

/// A file of 8-bit weights above this share of fp32's holds much that is wider: to be said.
constexpr double most_of_8_bits = 0.45;

void say_size(const Observation& baseline, const Observation& row, double ratio, Complaints& say) {
  const PrecisionName precision = row.precision.precision;
  const Measured& size = *row.find(Quantity::size);
  const Measured& base = *baseline.find(Quantity::size);
  const bool is_whole = std::abs(ratio - 1) < 0.06 && stored_bits(precision) < 32;
  const std::string expected = fmt::format("{}x", shown(stored_bits(precision) / 32.0));
  say.figure(
      size,
      fmt::format("{} stores {}, {} of {}'s {}, where {} weights take {}{}.", row.label, shown(size), shown(ratio),
                  baseline.label, shown(base), name(precision), expected,
                  is_whole ? ": the weights are still stored in 32 bits" : ", and nothing says what stays wider"),
      fmt::format("{} / {} = {}", shown(size), shown(base), shown(ratio)),
      is_whole || (stored_bits(precision) == 8 && ratio > most_of_8_bits) ? Severity::high
      : is_mixed(precision)                                               ? Severity::low
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
    const SizeShare* const share = size_share(bits);
    if (share == nullptr) return;
    const bool is_larger = bits == 16 && ratio > 1.02;
    if ((contains(share->printed, ratio) && !(bits == 8 && ratio > most_of_8_bits)) || is_larger) return;
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

namespace {

/// How many times what parameters take in their bits a file may hold: embeddings stay wider, and weigh most in small
/// models; training keeps more beside them.
double most_of_parameters(double parameters, double bits) {
  return bits <= 8 && parameters > 3e9 ? 1.9 : 36 / bits;
}

}  // namespace

void check_size_parameters(const PublishedTable& table, Complaints& say) {
  for (const Observation& row : table.rows) {
    const auto size = row.absolute(Quantity::size);
    const RowFigures figures = figures_of(table, row);
    const KnownFigure* known = figures.find(Quantity::parameters);
    const KnownFigure* width = figures.find(Quantity::bits);
    const double named = stored_bits(row.precision.precision);
    const double bits = is_mixed(row.precision.precision) || !width ? named : middle(width->range);
    if (!size || bits <= 0 || bits > 32 || !known || known->range.low <= 0) continue;
    say.relation_tested();
    const Range expected = scaled(known->range, bits / 8);
    const double most = most_of_parameters(known->range.high, bits);
    if (0.85 * expected.low <= size->high && size->low <= most * expected.high) continue;
    const Measured& about = *row.find(Quantity::size);
    const double parameters = middle(known->range);
    const bool is_far = size->high < 0.8 * middle(expected) || size->low > 20 * known->range.high || bits <= 8;
    say.figure(
        about,
        fmt::format("{} parameters in {} bits take {}, not {}.", format_count(static_cast<std::int64_t>(parameters)),
                    shown(bits), format_bytes(middle(expected)), shown(about)),
        fmt::format("{} x {} bytes", format_count(static_cast<std::int64_t>(parameters)), shown(bits / 8)),
        is_far ? Severity::high : Severity::medium);
  }
}

namespace {

/// The share of the wider one's size above which a narrower one's is odd.
double most_share(const Observation& wider, const Observation* widest, int bits, int wide_bits) {
  if (&wider == widest) return 0.85;
  return 2 * bits <= wide_bits ? 0.97 : INFINITY;
}

void compare_sizes(const Observation& wider, const Observation& row, const Observation* widest, Complaints& say) {
  const Measured* wide = wider.find(Quantity::size);
  const Measured* narrow = row.find(Quantity::size);
  const int bits = stored_bits(row.precision.precision);
  const int wide_bits = stored_bits(wider.precision.precision);
  if (!wide || !narrow || bits == 0 || bits >= wide_bits || wide->figure.range.low <= 0) return;
  const double ratio = narrow->figure.value / wide->figure.value;
  const double expected = static_cast<double>(bits) / wide_bits;
  if (ratio >= 0.8 * expected && ratio <= most_share(wider, widest, bits, wide_bits)) return;
  say.figure(*narrow,
             fmt::format("{} bits in {} of the size of {} bits ({} against {}), where {} is expected.", bits,
                         shown(ratio), wide_bits, shown(*narrow), shown(*wide), shown(expected)),
             fmt::format("{} / {} = {}", shown(*narrow), shown(*wide), shown(ratio)));
}

}  // namespace

const Observation* widest_of(const std::vector<const Observation*>& group) {
  const Observation* widest = nullptr;
  for (const Observation* row : group) {
    const int bits = stored_bits(row->precision.precision);
    if (bits > (widest ? stored_bits(widest->precision.precision) : 0)) widest = row;
  }
  return widest;
}

void check_equal_sizes(const PublishedTable& table, Complaints& say) {
  for (const auto& group : table.groups()) {
    const Observation* widest = widest_of(group);
    for (const Observation* row : group) {
      for (const Observation* other : group) compare_sizes(*other, *row, widest, say);
    }
  }
}

}  // namespace assay
