#include <algorithm>
#include <cmath>

#include "published/checks.h"
#include "published/row_figures.h"

namespace assay {
namespace {

/// No single board may draw more.
constexpr double most_power_w = 1400;

std::string power_figures(const Observation& row, Range power) {
  return fmt::format("{} / {} = {} W", shown(*row.find(Quantity::energy)), shown(*row.find(Quantity::latency)),
                     shown(power));
}

/// Duration of the fastest other row of the group, and the median power of the others.
struct Others {
  double fastest_ms = 0;
  bool agree = false;  ///< Two or more of them draw about the same: one that lies makes no other idle.
  double power_w = 0;
};

Others others_of(const PublishedTable& table, const std::vector<const Observation*>& group, const Observation& row) {
  Others others;
  std::vector<double> powers;
  for (const Observation* other : group) {
    const Measured* time = other->find(Quantity::latency);
    if (other == &row || !time || time->figure.value <= 0) continue;
    if (others.fastest_ms == 0 || time->figure.value < others.fastest_ms) others.fastest_ms = time->figure.value;
    if (const auto power = implied_power(table, *other)) powers.push_back(middle(*power));
  }
  if (!powers.empty()) {
    std::nth_element(powers.begin(), powers.begin() + std::ssize(powers) / 2, powers.end());
    others.power_w = powers[powers.size() / 2];
    const auto ends = std::minmax_element(powers.begin(), powers.end());
    others.agree = powers.size() > 1 && *ends.second < 2 * *ends.first;
  }
  return others;
}

void check_idle_row(const PublishedTable& table, const std::vector<const Observation*>& group, const Observation& row,
                    Complaints& say) {
  const auto power = implied_power(table, row);
  if (!power) return;
  const Others others = others_of(table, group, row);
  const double slower = others.fastest_ms > 0 ? row.find(Quantity::latency)->figure.value / others.fastest_ms : 0;
  const bool is_idle = row.device && power->low <= 1.1 * row.device->awake_w;
  const bool is_low = others.agree && power->high <= 0.6 * others.power_w;
  if (!(is_idle || is_low) || !(slower >= 3 || (runs_on_cpu(row) && is_idle))) return;
  std::string sentence = fmt::format("{} W is what a GPU draws that waits", shown(*power));
  if (is_idle) {
    sentence += fmt::format(" (a {} idles at {} to {} W)", row.device->name, shown(row.device->idle_w),
                            shown(row.device->awake_w));
  } else {
    sentence += fmt::format(" (the other rows draw {} W)", shown(others.power_w));
  }
  if (slower > 1) sentence += fmt::format(", over {}x the fastest row's time", shown(slower));
  sentence += ": the energy is of an idle GPU while the CPU worked.";
  say.figure(*row.find(Quantity::energy), std::move(sentence), power_figures(row, *power));
}

}  // namespace

std::optional<double> batch_of(const PublishedTable& table, const Observation& row) {
  if (const Measured* batch = row.find(Quantity::batch)) return batch->figure.value;
  return table.batch;
}

std::optional<Range> implied_power(const PublishedTable& table, const Observation& row) {
  const auto energy = row.absolute(Quantity::energy);
  const auto time = row.absolute(Quantity::latency);
  if (!energy || !time || energy->low <= 0 || time->low <= 0) return std::nullopt;
  Range power = scaled(*energy / *time, 1e3);
  const double batch = batch_of(table, row).value_or(1);
  if (batch > 1) power.high *= batch;
  return power;
}

void check_power_limit(const PublishedTable& table, Complaints& say) {
  for (const Observation& row : table.rows) {
    const double cards = devices_of(table, row);
    const double limit = cards * (row.device ? row.device->limit_w : most_power_w);
    const std::string of = row.device
                               ? fmt::format("the {} W that {} may draw", shown(limit), cards_of(*row.device, cards))
                               : fmt::format("what any single board draws");
    if (row.find(Quantity::power)) say.limit_tested();
    if (const auto power = row.absolute(Quantity::power); power && is_impossible(*power, limit)) {
      const Measured& about = *row.find(Quantity::power);
      say.figure(about, fmt::format("{} is above {}: impossible.", shown(about), of), shown(about));
    }
    const auto implied = implied_power(table, row);
    if (!implied) continue;
    say.limit_tested();
    if (!is_impossible(*implied, limit)) continue;
    say.figure(*row.find(Quantity::energy),
               fmt::format("energy over latency is {} W, above {}: impossible, unless the energy is of more than the "
                           "latency's work.",
                           shown(*implied), of),
               power_figures(row, *implied));
  }
}

void check_idle_device(const PublishedTable& table, Complaints& say) {
  for (const auto& group : table.groups()) {
    for (const Observation* row : group) check_idle_row(table, group, *row, say);
  }
}

void check_energy_and_power(const PublishedTable& table, Complaints& say) {
  for (const Observation& row : table.rows) {
    const auto energy = row.absolute(Quantity::energy);
    const auto power = row.absolute(Quantity::power);
    const auto time = row.absolute(Quantity::latency);
    if (!energy || !power || !time || energy->low <= 0 || time->low <= 0) continue;
    say.relation_tested();
    const Range expected = scaled(*power * *time, 1e-3);
    const double batch = batch_of(table, row).value_or(1);
    const double items = middle(expected) / middle(*energy);
    // Without a batch that is known, a whole number of items in a run explains itself.
    const bool is_batch = items > 1.5 && std::abs(items / std::round(items) - 1) < 0.03;
    if (may_equal(*energy, expected, 0.1) || may_equal(*energy, scaled(expected, 1 / batch), 0.1) || is_batch) continue;
    const Measured& about = *row.find(Quantity::energy);
    say.figure(about,
               fmt::format("{} is not power times latency, which gives {} J: one of the three is of another run.",
                           shown(about), shown(expected)),
               fmt::format("{} x {} = {} J", shown(*row.find(Quantity::power)), shown(*row.find(Quantity::latency)),
                           shown(expected)),
               items > 1.5 || items < 0.67 ? Severity::high : Severity::medium);
  }
}

/// Rows whose throughput is one batch after the other: two of them say how the table counts.
std::int64_t rows_of_one_batch(const PublishedTable& table) {
  return std::count_if(table.rows.begin(), table.rows.end(), [&](const Observation& row) {
    const auto rate = row.absolute(Quantity::throughput);
    const auto time = row.absolute(Quantity::latency);
    const auto batch = batch_of(table, row);
    return rate && time && batch && rate->low > 0 && time->low > 0 &&
           may_equal(items_of_run(*rate, *time), {*batch, *batch}, 0.05);
  });
}

void check_throughput(const PublishedTable& table, Complaints& say) {
  for (const Observation& row : table.rows) {
    const auto rate = row.absolute(Quantity::throughput);
    const auto time = row.absolute(Quantity::latency);
    if (!rate || !time || rate->low <= 0 || time->low <= 0) continue;
    say.relation_tested();
    const Range items = items_of_run(*rate, *time);
    const auto batch = batch_of(table, row);
    const double whole = std::max(1.0, std::round(middle(items)));
    if (may_equal(items, {whole, whole}, 0.15) && (!batch || may_equal(items, {*batch, *batch}, 0.15) || whole == 1))
      continue;
    const Measured& about = *row.find(Quantity::throughput);
    const Measured* count = row.find(Quantity::count);
    const std::string figures =
        fmt::format("{} x {} = {}", shown(about), shown(*row.find(Quantity::latency)), shown(items));
    if (batch && count && may_equal(items, count->figure.range, 0.05)) {
      say.figure(
          about,
          fmt::format("throughput times latency is {}, the {} of '{}': the latency is that of all of them, not of a "
                      "batch of {}.",
                      shown(items), shown(*count), count->column, shown(*batch)),
          figures, Severity::low);
      continue;
    }
    const double off = middle(items) / batch.value_or(whole);
    const bool is_alone = batch && (off > 1.3 || off < 0.77) && rows_of_one_batch(table) >= 2;
    say.figure(about,
               fmt::format("throughput times latency is {}{}: the two figures are not of one run.", shown(items),
                           batch ? fmt::format(" where the batch is {}", shown(*batch)) : ", no whole batch"),
               figures,
               is_alone || (batch && off > 2) || off < (batch ? 0.5 : 0.7) ? Severity::high : Severity::medium);
  }
}

}  // namespace assay
