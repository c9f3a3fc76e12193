#include <algorithm>
#include <cmath>

#include "rules/physics.h"
#include "rules/rule_tables.h"

namespace assay {
namespace {

constexpr bool as_expected = true;
constexpr bool not_expected = false;

Judgement expected(const std::string& what) {
  return {what + ": as expected.", as_expected};
}
Judgement unexpected(const std::string& what, const std::string& because) {
  return {fmt::format("{}: not, because {}.", what, because), not_expected};
}

const Record* find(const Cell& cell, std::string_view precision) {
  for (const Record* row : cell.measured) {
    if (row->setting.precision == precision) return row;
  }
  return nullptr;
}

bool is_f32_stored(const Record* record) {
  const Precision* precision = record ? precision_row(*record) : nullptr;
  return precision && precision->weights == DType::f32;
}

/// What a file holds decides size and rounding: nothing can be expected of them.
bool is_as_stored(const Record& record) {
  const Precision* precision = precision_row(record);
  return precision != nullptr && takes_formats(precision->scheme);
}

Judgement expects_size(const Cell& cell, const Record& row) {
  const Precision* precision = precision_row(row);
  if (&row == cell.baseline || !is_f32_stored(cell.baseline) || !precision || is_overridden(row)) return {};
  if (is_as_stored(row) || !row.memory->model_bytes || cell.baseline->memory->model_bytes.value_or(0) <= 0) return {};
  const SizeShare* const share = size_share(stored_bits(*precision));
  if (share == nullptr) return {};
  const auto bytes = static_cast<double>(*row.memory->model_bytes);
  const auto baseline_bytes = static_cast<double>(*cell.baseline->memory->model_bytes);
  const double ratio = bytes / baseline_bytes;
  const std::string what =
      fmt::format("{} stores {}, {:.3f} of {}'s {} ({})", row.setting.precision, megabytes(bytes), ratio,
                  cell.baseline->setting.precision, megabytes(baseline_bytes), share->words);
  if (contains(share->counted, ratio)) return expected(what);
  const double excess = bytes - baseline_bytes * std::clamp(ratio, share->counted.low, share->counted.high);
  return unexpected(
      what, fmt::format("{} {} than that is stored", megabytes(std::abs(excess)), excess > 0 ? "more" : "less"));
}

/// A matmul this much faster than the baseline's takes a unit of its own; wider vectors alone give up to 2x.
constexpr double matrix_unit_ratio = 1.5;

Judgement order_sentence(const Record& base, const Record& mixed, const Record& pure) {
  const std::string what = fmt::format(
      "{} {} {} > {} {} > {} {}", is_of_training(base.setting.mode) ? "time" : "latency", base.setting.precision,
      milliseconds(base), mixed.setting.precision, milliseconds(mixed), pure.setting.precision, milliseconds(pure));
  if (const Record* alike = is_tie(base, mixed) ? &base : is_tie(mixed, pure) ? &pure : nullptr) {
    return {fmt::format("{}: cannot tell, {} and {} are not told apart{}.", what, mixed.setting.precision,
                        alike->setting.precision, ratio_words(*alike, mixed)),
            {}};
  }
  const bool base_slowest = *base.latency->median_ms > *mixed.latency->median_ms;
  if (base_slowest && *mixed.latency->median_ms > *pure.latency->median_ms) return expected(what);
  if (!base_slowest) {
    return unexpected(
        what, fmt::format("the casts of {} cost more than its matmuls save at this shape", mixed.setting.precision));
  }
  if (is_of_training(mixed.setting.mode)) {
    return unexpected(what, fmt::format("casting its weights anew each step costs {} less than it was expected to",
                                        mixed.setting.precision));
  }
  const char* casts = mixed.setting.casts == CastsMade::once ? "both run the same matmuls on packed 16-bit weights"
                                                             : "casting is cheap here";
  return unexpected(what, fmt::format("{}, and {} casts nothing around its norms and sums, which are f32 already",
                                      casts, mixed.setting.precision));
}

Judgement expects_order(const Cell& cell, const Record& row) {
  const Precision* precision = precision_row(row);
  if (!precision || !is_f32_stored(cell.baseline) || size_of(precision->weights) != 2) return {};
  const Record* mixed = find(cell, "mixed-" + row.setting.precision);
  const auto ratio = matmul_ratio(row);
  if (!cell.baseline->latency->median_ms || !mixed || !mixed->latency->median_ms || !row.latency->median_ms) return {};
  if (!ratio || !were_interleaved(*mixed, row) || !were_interleaved(*cell.baseline, row)) return {};
  if (*ratio >= matrix_unit_ratio) return order_sentence(*cell.baseline, *mixed, row);
  return {fmt::format("latency {} > {} > {} is not to be expected here: {}'s matmuls run at {} {}'s.",
                      cell.baseline->setting.precision, mixed->setting.precision, row.setting.precision,
                      row.setting.precision, times(*ratio), cell.baseline->setting.precision),
          {}};
}

/// Throughput counts all windows, latency is their median: a few slow windows part the two.
constexpr double throughput_tolerance = 0.05;

/// What one run works through: the batch, or the items that a marked phase counted.
double items_a_run(const Record& row) {
  if (!row.latency->items || row.latency->timed_runs.value_or(0) <= 0) return static_cast<double>(row.setting.batch);
  return *row.latency->items / static_cast<double>(*row.latency->timed_runs);
}

/// A mean may be off its median by as much as the median is unsure.
double throughput_slack(const Latency& latency) {
  if (!latency.ci_low_ms || !latency.ci_high_ms) return throughput_tolerance;
  return std::max(throughput_tolerance, (*latency.ci_high_ms - *latency.ci_low_ms) / *latency.median_ms);
}

Judgement expects_throughput(const Cell& cell, const Record&) {
  for (const Record* row : cell.measured) {
    const double pass_ms = work_ms(*row).value_or(0);
    if (!row->rates.samples_per_s || pass_ms <= 0) return {};
    const double product = items_of_run(exactly(*row->rates.samples_per_s), exactly(pass_ms)).low;
    const double items = items_a_run(*row);
    if (std::abs(product / items - 1) <= throughput_slack(*row->latency)) continue;
    return unexpected("throughput x latency = batch" + at_shape(*row),
                      fmt::format("{} gives {} for a batch of {}: the mean over all its windows is not their median",
                                  row->setting.precision, format_significant(product, 4), format_significant(items)));
  }
  return expected(fmt::format("throughput x latency = batch in all {} rows", cell.measured.size()));
}

std::string margin_words(const Record& row) {
  return row.difference->delta_log_perplexity ? fmt::format("{} nat", log_perplexity_margin)
                                              : fmt::format("{} point", 100 * accuracy_margin);
}

std::string quality_change(const Record& row) {
  if (row.difference->delta_log_perplexity) {
    const std::string change = fmt::format("log-perplexity {:+.5f} nat", *row.difference->delta_log_perplexity);
    if (!row.difference->delta_log_perplexity_low || !row.difference->delta_log_perplexity_high) return change;
    return change + fmt::format(", 95 % [{:+.5f}, {:+.5f}]", *row.difference->delta_log_perplexity_low,
                                *row.difference->delta_log_perplexity_high);
  }
  return fmt::format(
      "accuracy {:+.2f} points, 95 % [{:+.2f}, {:+.2f}]", 100 * row.difference->accuracy_change.value_or(0),
      100 * row.difference->accuracy_change_low.value_or(-1), 100 * row.difference->accuracy_change_high.value_or(1));
}

Judgement expects_mixed_quality(const Cell& cell, const Record& row) {
  const Precision* precision = precision_row(row);
  const auto equivalence = quality_equivalence(row);
  if (!precision || precision->rule != Activations::autocast_lists || !equivalence || !cell.baseline) return {};
  const std::string what = fmt::format("{}'s quality equals {}'s within {} ({})", row.setting.precision,
                                       cell.baseline->setting.precision, margin_words(row), quality_change(row));
  if (*equivalence == Equivalence::equal) return expected(what);
  if (*equivalence == Equivalence::different)
    return unexpected(what, "on the same rows, its rounding changes more than that");
  return {fmt::format("{}: cannot tell, {} leave more room than that.", what, scored_words(row)), {}};
}

bool ran_alike(const Record& a, const Record& b) {
  const LedgerRow* one = dominant_row(a.evidence.ledger);
  const LedgerRow* other = dominant_row(b.evidence.ledger);
  return one && other && one->operand == other->operand && one->accumulator == other->accumulator;
}

Judgement identical_sentence(const Record& a, const Record& b) {
  const std::string what = fmt::format("{} and {} differ in their logits", a.setting.precision, b.setting.precision);
  if (ran_alike(a, b)) return unexpected(what, fmt::format("they are bit-identical: both ran {}", what_ran(a)));
  return unexpected(what, fmt::format("they are bit-identical although one ran {} and the other {}: one of the two "
                                      "does not run what it says",
                                      what_ran(a), what_ran(b)));
}

Judgement expects_distinct_logits(const Cell& cell, const Record&) {
  int hashed = 0;
  for (std::size_t i = 0; i < cell.measured.size(); ++i) {
    if (!cell.measured[i]->quality->logits_hash || is_as_stored(*cell.measured[i])) continue;
    ++hashed;
    for (std::size_t j = 0; j < i; ++j) {
      if (is_as_stored(*cell.measured[j])) continue;
      if (cell.measured[j]->quality->logits_hash != cell.measured[i]->quality->logits_hash) continue;
      return identical_sentence(*cell.measured[j], *cell.measured[i]);
    }
  }
  if (hashed < 2) return {};
  return expected(fmt::format("the logits of all {} precisions differ", hashed));
}

constexpr Rule expectations[] = {
    {.id = "size",
     .kind = RuleKind::expectation,
     .evidence = "model_bytes of the row and of an f32 baseline",
     .states = "Stored size over fp32's: 0.495 to 0.505 for 16-bit weights, 0.25 to 0.30 for 8-bit ones, exactly 1 for "
               "mixed; not asked of overrides by role.",
     .judge = expects_size,
     .severity = Severity::high,
     .remedy = "Count bytes as stored; find the tensors that kept another dtype."},
    {.id = "latency_order",
     .kind = RuleKind::expectation,
     .evidence = "median_ms, matmul peaks",
     .states = "Where a 16-bit matmul peaks at 1.5x fp32's or more: fp32 slower than mixed slower than pure 16-bit, "
               "each told apart from the next at 95 %.",
     .judge = expects_order,
     .severity = Severity::low,
     .remedy = "Look at the casts (`assay profile`), and at larger shapes."},
    {.id = "throughput",
     .kind = RuleKind::expectation,
     .scope = RuleScope::cell,
     .evidence = "samples_per_s, median_ms",
     .states = "Throughput over all windows times the median latency is the batch, within 5 % or the width of the "
               "median's interval.",
     .judge = expects_throughput,
     .severity = Severity::medium,
     .remedy = "Look for pauses between runs, or windows that overlap."},
    {.id = "mixed_quality",
     .kind = RuleKind::expectation,
     .evidence = "the interval of delta_log_perplexity or of accuracy_change",
     .states = "A mixed precision's quality equals the baseline's: the interval of its change lies within 0.01 nat or "
               "1 point.",
     .judge = expects_mixed_quality,
     .severity = Severity::medium,
     .remedy = "Compare on the same data, and check which operations left f32."},
    {.id = "distinct_logits",
     .kind = RuleKind::expectation,
     .scope = RuleScope::cell,
     .evidence = "logits_hash",
     .states = "No two precisions give bit-identical logits.",
     .judge = expects_distinct_logits,
     .severity = Severity::high,
     .remedy = "Check that the cast happened; the ledger says which kernel ran."},
};

}  // namespace

std::span<const Rule> expectation_rules() {
  return expectations;
}

}  // namespace assay
