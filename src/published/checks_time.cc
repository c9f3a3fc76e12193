#include <algorithm>
#include <cmath>
#include <set>

#include "published/checks.h"

namespace assay {
namespace {

constexpr Quantity step_durations[] = {Quantity::latency, Quantity::forward, Quantity::backward, Quantity::optimizer,
                                       Quantity::step};

std::string mean_and_spread(const Observation& row, Quantity duration) {
  const Measured& mean = *row.find(duration);
  const Measured* spread = row.find(spread_of(duration));
  if (!spread || mean.figure.spread) return shown(mean);
  return shown(mean) + " ± " + shown(*spread);
}

/// Root of the sum of two squares, over ranges of positive numbers.
Range hypotenuse(Range a, Range b) {
  const auto low = std::hypot(std::max(a.low, 0.0), std::max(b.low, 0.0));
  return {low, std::hypot(a.high, b.high)};
}

bool is_sharp(Range range) {
  return range.low > 0 && range.high - range.low <= 0.2 * range.low;
}

const Range* range_of(const Observation& row, Quantity quantity) {
  const Measured* measured = row.find(quantity);
  return measured ? &measured->figure.range : nullptr;
}

/// Whether `whole` is `a` and `b` added in squares, and could not be just one of them.
bool is_hypotenuse(Range whole, Range a, Range b) {
  if (!is_sharp(whole) || !is_sharp(a) || !is_sharp(b)) return false;
  const Range both = hypotenuse(a, b);
  return may_equal(whole, both) && !may_equal(whole, a, 0.02) && !may_equal(whole, b, 0.02);
}

double layers_of(const Observation& row) {
  if (const Measured* layers = row.find(Quantity::layers)) return layers->figure.value;
  return row.model ? row.model->layers : 0;
}

/// Rows of other sizes of one model under one setting, and how their times spread.
struct Family {
  std::vector<const Observation*> rows;
  double per_layer_spread = 1;      ///< Largest over smallest of time over layers.
  double per_parameter_spread = 1;  ///< Of parameters over layers: what FLOPs a layer would let time follow.
};

double spread(const std::vector<double>& values) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return *low > 0 ? *high / *low : INFINITY;
}

Family family_of(const std::vector<const Observation*>& rows, Quantity duration) {
  Family family;
  std::vector<double> times;
  std::vector<double> works;
  std::set<double> depths;
  for (const Observation* row : rows) {
    const Measured* time = row->find(duration);
    const double layers = layers_of(*row);
    if (!time || layers <= 0 || parameters_of(*row, row->model) <= 0 || !depths.insert(layers).second) continue;
    family.rows.push_back(row);
    times.push_back(time->figure.value / layers);
    works.push_back(parameters_of(*row, row->model) / layers);
  }
  if (family.rows.size() < 3) return {};
  family.per_layer_spread = spread(times);
  family.per_parameter_spread = spread(works);
  return family;
}

std::string family_figures(const Family& family, Quantity duration) {
  std::string text;
  for (const Observation* row : family.rows) {
    const Measured& time = *row->find(duration);
    text += fmt::format("{}{}: {} / {:.0f} layers", text.empty() ? "" : ", ", time.row, shown(time), layers_of(*row));
  }
  return text;
}

void check_family(const std::vector<const Observation*>& rows, Quantity duration, Complaints& say) {
  const Family family = family_of(rows, duration);
  if (family.rows.empty() || family.per_layer_spread > 1.7) return;
  if (family.per_parameter_spread < 2.5 * family.per_layer_spread) return;
  say.figure(*family.rows.front()->find(duration),
             fmt::format("{} times follow the number of layers (within {}x a layer) although the work of a layer grows "
                         "{}x: launching kernels takes the time, not arithmetic, and no precision speeds that up.",
                         name(duration), shown(family.per_layer_spread), shown(family.per_parameter_spread)),
             family_figures(family, duration));
}

/// The same model at twice the tokens or more in the same time.
bool check_lengths(const std::vector<const Observation*>& rows, Quantity duration, Complaints& say) {
  for (std::size_t i = 0; i + 1 < rows.size(); ++i) {
    const Observation& a = *rows[i];
    const Observation& b = *rows[i + 1];
    const Measured* few = a.find(Quantity::seq);
    const Measured* many = b.find(Quantity::seq);
    const Measured* short_time = a.find(duration);
    const Measured* long_time = b.find(duration);
    if (!few || !many || !short_time || !long_time || a.model != b.model || !a.model) continue;
    if (many->figure.value < 2 * few->figure.value) continue;
    if (long_time->figure.value > 1.1 * short_time->figure.value) continue;
    say.figure(*long_time,
               fmt::format("{}x the tokens take {} instead of {}: the time does not follow the work, so something else "
                           "(launching kernels, the host) takes it.",
                           shown(many->figure.value / few->figure.value), shown(*long_time), shown(*short_time)),
               fmt::format("{}: {}, {}: {}", short_time->row, shown(*short_time), long_time->row, shown(*long_time)),
               Severity::low);
    return true;
  }
  return false;
}

}  // namespace

void check_durations(const PublishedTable& table, Complaints& say) {
  for (const Observation& row : table.rows) {
    for (const Quantity duration : step_durations) {
      const Measured* time = row.find(duration);
      if (!time || time->figure.range.high >= 0 || time->figure.value >= 0) continue;
      say.figure(
          *time,
          fmt::format("{} of {} is negative: it was derived by subtracting one mean from another, and noise is all "
                      "that is left.",
                      name(duration), mean_and_spread(row, duration)),
          fmt::format("{} = {}", time->column, mean_and_spread(row, duration)));
    }
  }
}

void check_placeholders(const PublishedTable& table, Complaints& say) {
  for (const Observation& row : table.rows) {
    for (const Quantity quantity :
         {Quantity::latency, Quantity::step, Quantity::throughput, Quantity::energy, Quantity::power}) {
      const Measured* zero = row.find(quantity);
      if (!zero || zero->figure.value != 0) continue;
      say.figure(
          *zero,
          fmt::format("{} of 0 is no measurement: a row that was not measured belongs out of the table, or empty.",
                      name(quantity)),
          fmt::format("{} = {}", zero->column, shown(*zero)));
      break;
    }
  }
}

void check_spread(const PublishedTable& table, Complaints& say) {
  for (const Observation& row : table.rows) {
    for (const Quantity duration : step_durations) {
      const Measured* time = row.find(duration);
      const Range* spread = range_of(row, spread_of(duration));
      if (!time || !spread || spread->low <= std::abs(time->figure.range.high)) continue;
      say.figure(
          *time,
          fmt::format("the standard deviation of {} exceeds its mean ({}): a few outlying runs, commonly the first "
                      "ones without warm-up, make up the mean.",
                      name(duration), mean_and_spread(row, duration)),
          mean_and_spread(row, duration));
    }
  }
}

void check_subtraction(const PublishedTable& table, Complaints& say) {
  for (const Observation& row : table.rows) {
    const Range* forward = range_of(row, Quantity::forward_std);
    const Range* backward = range_of(row, Quantity::backward_std);
    const Range* step = range_of(row, Quantity::step_std);
    if (!forward || !backward || !step) continue;
    const Measured& about = *row.find(Quantity::backward_std);
    const std::string figures =
        fmt::format("std: forward {}, backward {}, total {}", shown(*row.find(Quantity::forward_std)), shown(about),
                    shown(*row.find(Quantity::step_std)));
    if (is_hypotenuse(*backward, *forward, *step)) {
      say.figure(
          about,
          fmt::format("the backward pass's deviation is the root of the squares of the other two ({} against {}): it "
                      "was not timed, but derived by subtracting the forward pass from the total.",
                      shown(middle(hypotenuse(*forward, *step))), shown(about)),
          figures);
    } else if (is_hypotenuse(*step, *forward, *backward)) {
      say.figure(*row.find(Quantity::step_std),
                 "the total's deviation is the root of the squares of its parts': it was added up, not timed.", figures,
                 Severity::info);
    }
  }
}

namespace {

/// Forward, backward and step of a row, and what its parts add up to.
struct Parts {
  Range two;
  Range all;  ///< The optimizer too, where it is printed.
  Range step;
};

std::optional<Parts> parts_of(const Observation& row) {
  const Range* forward = range_of(row, Quantity::forward);
  const Range* backward = range_of(row, Quantity::backward);
  const Range* step = range_of(row, Quantity::step);
  if (!forward || !backward || !step || forward->low <= 0 || backward->low <= 0) return std::nullopt;
  Parts parts = {{forward->low + backward->low, forward->high + backward->high}, {}, *step};
  parts.all = parts.two;
  if (const Range* optimizer = range_of(row, Quantity::optimizer))
    parts.all = {parts.two.low + optimizer->low, parts.two.high + optimizer->high};
  return parts;
}

}  // namespace

void check_parts(const PublishedTable& table, Complaints& say) {
  // Where another row's step holds its optimizer, every row's does.
  const bool holds_all = std::any_of(table.rows.begin(), table.rows.end(), [](const Observation& row) {
    const auto parts = parts_of(row);
    return parts && may_equal(parts->step, parts->all, 0.03) && !may_equal(parts->step, parts->two, 0.03);
  });
  for (const Observation& row : table.rows) {
    const auto parts = parts_of(row);
    if (!parts) continue;
    say.relation_tested();
    const Range sum = holds_all ? parts->all : parts->two;
    const bool fits = may_equal(parts->step, sum, 0.05) || may_equal(parts->step, parts->all, 0.05);
    if (fits || parts->step.low > parts->all.high) continue;
    const Measured& whole = *row.find(Quantity::step);
    say.figure(whole,
               fmt::format("the total of {} is not its parts, which add up to {}.", shown(whole), shown(middle(sum))),
               fmt::format("forward {}, backward {}, total {}", shown(*row.find(Quantity::forward)),
                           shown(*row.find(Quantity::backward)), shown(whole)),
               parts->step.high < 0.9 * sum.low ? Severity::high : Severity::medium);
  }
}

void check_launch_bound(const PublishedTable& table, Complaints& say) {
  std::set<PrecisionName> precisions;
  for (const Observation& row : table.rows) precisions.insert(row.precision.precision);
  for (const PrecisionName precision : precisions) {
    std::vector<const Observation*> rows;
    for (const Observation& row : table.rows) {
      if (row.precision.precision == precision) rows.push_back(&row);
    }
    for (const Quantity duration : step_durations) {
      check_family(rows, duration, say);
      if (check_lengths(rows, duration, say)) break;
    }
  }
}

}  // namespace assay
