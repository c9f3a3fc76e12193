#include <algorithm>
#include <cmath>

#include "published/checks.h"
#include "published/row_figures.h"

namespace assay {
namespace {

/// One duration of a row may not exceed another.
struct Order {
  const char* rule;
  Quantity less;
  Quantity more;
  double slack;
  const char* why;
};

constexpr Order orders[] = {
    {"percentile_order", Quantity::least, Quantity::latency, 0, "the least exceeds the middle"},
    {"percentile_order", Quantity::median, Quantity::p90, 0,
     "half of the runs lie below the one, 90 % below the other"},
    {"percentile_order", Quantity::median, Quantity::p95, 0,
     "half of the runs lie below the one, 95 % below the other"},
    {"percentile_order", Quantity::median, Quantity::p99, 0,
     "half of the runs lie below the one, 99 % below the other"},
    {"percentile_order", Quantity::p90, Quantity::p95, 0, "more runs lie below the second"},
    {"percentile_order", Quantity::p90, Quantity::p99, 0, "more runs lie below the second"},
    {"percentile_order", Quantity::p95, Quantity::p99, 0, "more runs lie below the second"},
    {"percentile_order", Quantity::latency, Quantity::most, 0, "the middle exceeds the most"},
    {"percentile_order", Quantity::p99, Quantity::most, 0, "a percentile exceeds the most"},
    {"step_order", Quantity::forward, Quantity::step, 0.02, "a step holds its forward pass"},
    {"step_order", Quantity::backward, Quantity::step, 0.02, "a step holds its backward pass"},
    {"step_order", Quantity::forward, Quantity::backward, 0.1,
     "a backward pass has twice the products of a forward pass"},
    {"token_order", Quantity::ttft, Quantity::latency, 0.02, "a whole answer holds its first token"},
    {"token_order", Quantity::tpot, Quantity::latency, 0.02, "a whole answer holds more than one token"},
};

/// A median that stands in the place of the mean.
const Measured* placed(const Observation& row, Quantity quantity) {
  if (const Measured* own = row.find(quantity)) return own;
  if (quantity != Quantity::median) return nullptr;
  const Measured* latency = row.find(Quantity::latency);
  if (!latency) return nullptr;
  for (const std::string& word : words_of_header(latency->header)) {
    if (word == "median" || word == "p50") return latency;
  }
  return nullptr;
}

void test_order(const Order& order, const Observation& row, Complaints& say) {
  const Measured* less = placed(row, order.less);
  const Measured* more = placed(row, order.more);
  if (!less || !more || less->is_absolute != more->is_absolute || more->figure.value <= 0) return;
  say.relation_tested();
  if (less->figure.range.low * (1 - order.slack) <= more->figure.range.high) return;
  say.figure(
      *less,
      fmt::format("{} '{}' exceeds {} '{}': {}.", shown(*less), less->column, shown(*more), more->column, order.why),
      fmt::format("{} > {}", shown(*less), shown(*more)));
}

double tokens_of(const Observation& row) {
  const Measured* batch = row.find(Quantity::batch);
  const Measured* seq = row.find(Quantity::seq);
  return (batch ? batch->figure.value : 1) * (seq ? seq->figure.value : 1);
}

}  // namespace

void check_order(const PublishedTable& table, Complaints& say) {
  for (const Observation& row : table.rows) {
    for (const Order& order : orders) {
      if (say.rule_id() == order.rule) test_order(order, row, say);
    }
  }
}

void check_loss(const PublishedTable& table, Complaints& say) {
  for (const Observation& row : table.rows) {
    const Measured* loss = row.find(Quantity::loss);
    const Measured* perplexity = row.find(Quantity::perplexity);
    if (!loss || !perplexity || loss->figure.range.high > 50) continue;
    say.relation_tested();
    const Range natural = {std::exp(loss->figure.range.low), std::exp(loss->figure.range.high)};
    const Range binary = {std::exp2(loss->figure.range.low), std::exp2(loss->figure.range.high)};
    if (may_equal(perplexity->figure.range, natural, 0.01) || may_equal(perplexity->figure.range, binary, 0.01))
      continue;
    say.figure(*perplexity,
               fmt::format("perplexity is the exponential of the loss: exp({}) = {}, the table says {}.", shown(*loss),
                           shown(natural), shown(*perplexity)),
               fmt::format("exp({}) = {}", shown(*loss), shown(natural)));
  }
}

void check_zero_spread(const PublishedTable& table, Complaints& say) {
  for (const Observation& row : table.rows) {
    for (const Quantity duration : {Quantity::latency, Quantity::forward, Quantity::backward, Quantity::step}) {
      const Measured* spread = row.find(spread_of(duration));
      const Measured* mean = row.find(duration);
      if (!spread || !mean || spread->figure.value != 0 || mean->figure.value <= 0) continue;
      // Rounding to so little of the mean hides no spread that a clock has.
      const bool is_sharp = spread->figure.range.high < 0.0005 * mean->figure.value;
      say.figure(*spread,
                 fmt::format("a spread of 0 around {}: repeated timings never agree to all digits; it is one run.",
                             shown(*mean)),
                 fmt::format("{} ± {}", shown(*mean), shown(*spread)), is_sharp ? Severity::high : Severity::low);
    }
  }
}

namespace {

/// What the row takes for its work: a time, or work over a rate; 0 for neither.
double time_like(const Observation& row) {
  for (const Quantity time : {Quantity::latency, Quantity::step, Quantity::forward, Quantity::tpot}) {
    if (const Measured* measured = row.find(time)) return measured->figure.value;
  }
  for (const Quantity rate : {Quantity::throughput, Quantity::tokens_per_s}) {
    if (const Measured* measured = row.find(rate); measured && measured->figure.value > 0)
      return tokens_of(row) / measured->figure.value;
  }
  return 0;
}

const Measured* speed_of(const Observation& row) {
  for (const Quantity one : {Quantity::latency, Quantity::step, Quantity::forward, Quantity::tpot, Quantity::throughput,
                             Quantity::tokens_per_s}) {
    if (const Measured* measured = row.find(one)) return measured;
  }
  return nullptr;
}

/// What tells rows apart, without its numbers: batch, length, the number of the run.
std::string setting_of(const Observation& row) {
  std::string words = row.group + row.label + row.model_text;
  std::erase_if(words, [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; });
  return words;
}

/// The same precision, model and device at as many tokens or more.
bool does_as_much(const Observation& row, const Observation& first) {
  return row.precision.precision == first.precision.precision && row.device == first.device &&
         row.device_text == first.device_text && setting_of(row) == setting_of(first) &&
         tokens_of(row) >= tokens_of(first) && time_like(row) > 0;
}

}  // namespace

void check_warm_up(const PublishedTable& table, Complaints& say) {
  if (table.rows.size() < 3) return;
  const Observation& first = table.rows.front();
  const double time = time_like(first);
  int slower_than = 0;
  double nearest = 0;
  for (const Observation& row : table.rows) {
    if (&row == &first || !does_as_much(row, first) || devices_of(table, row) != devices_of(table, first)) continue;
    if (time < 2.5 * time_like(row)) return;
    ++slower_than;
    nearest = std::max(nearest, time_like(row));
  }
  if (slower_than == 0) return;
  const Measured& about = *speed_of(first);
  const bool says_so =
      page_says(table, first,
                {"compil", "first call", "first run", "first prompt", "first request", "first batch", "autotun", "cold",
                 "warm-up", "warmup", "warm up", "jit", "includes", "including", "initial", "cache miss", "load"});
  const bool is_certain = !says_so && slower_than >= 2;
  say.figure(about,
             fmt::format("the first row takes {}, over {} times what rows of as much work or more take: it holds the "
                         "warm-up.",
                         shown(about), shown(time / nearest)),
             fmt::format("{} of {} rows", slower_than, table.rows.size() - 1),
             is_certain ? Severity::high : Severity::medium);
}

}  // namespace assay
