#include <algorithm>
#include <cmath>

#include "rules/rule_tables.h"

namespace assay {
namespace {

bool is_baseline(const Cell& cell, const Record& row) {
  return cell.baseline == &row;
}

/// "its matmuls (bf16/f32 widened) peak at 0.5x fp32's here, 220 against 442 GFLOP/s".
std::string matmul_comparison(const Cell& cell, const Record& row) {
  return fmt::format("its matmuls ({}) peak at {} {}'s here, {} against {} GFLOP/s", what_ran(row),
                     times(*matmul_ratio(row)), cell.baseline->setting.precision,
                     format_significant(*row.evidence.matmul_peak_gflops),
                     format_significant(*row.evidence.baseline_matmul_peak_gflops));
}

/// Of the traced time of a row, what its matrix products took and what all else did.
struct TracedParts {
  double products_ms = 0;
  double others_ms = 0;
};

/// Absent where no run was traced, or where it had no products.
std::optional<TracedParts> traced_parts(const Record& row) {
  const Evidence& evidence = row.evidence;
  if (evidence.operation_ms.empty() || evidence.operation_ms.size() != evidence.ledger.size()) return {};
  TracedParts parts;
  for (std::size_t i = 0; i < evidence.ledger.size(); ++i)
    (multiplies(evidence.ledger[i]) ? parts.products_ms : parts.others_ms) += evidence.operation_ms[i];
  return parts.products_ms > 0 ? std::optional(parts) : std::nullopt;
}

/// Which of the two kept it back, products that stayed below their peak or what surrounds them, by the traces of both;
/// without them that is not known.
std::string where_it_stays(const Record& base, const Record& row) {
  const auto before = traced_parts(base);
  const auto after = traced_parts(row);
  if (!before || !after) return "by its products or by what surrounds them, `assay profile --against` tells";
  return fmt::format("its products took {} ms where {}'s took {} ({} as fast), all else {} where it took {}",
                     format_significant(after->products_ms), base.setting.precision,
                     format_significant(before->products_ms), times(before->products_ms / after->products_ms),
                     format_significant(after->others_ms), format_significant(before->others_ms));
}

std::string why_not_faster(const Cell& cell, const Record& row) {
  const LedgerRow* dominant = dominant_row(row.evidence.ledger);
  if (dominant && dominant->verdict == Verdict::widened) {
    return fmt::format("its matmuls are computed in {} from narrower storage, and widening costs time",
                       name(dominant->operand));
  }
  if (dominant && dominant->verdict == Verdict::emulated) return "its matmuls are emulated: " + dominant->evidence;
  const auto ratio = matmul_ratio(row);
  if (!ratio) return "no matmul peak was measured to compare with";
  if (*ratio < 1.05) return matmul_comparison(cell, row);
  return matmul_comparison(cell, row) + "; " + where_it_stays(*cell.baseline, row);
}

Judgement says_slower(const Cell& cell, const Record& row) {
  if (is_baseline(cell, row) || !cell.baseline || !row.speedup->speedup || row.speedup->speedup_high.value_or(1) >= 1)
    return {};
  const auto baseline_ms =
      row.speedup->baseline_median_ms ? row.speedup->baseline_median_ms : cell.baseline->latency->median_ms;
  if (!row.latency->median_ms || !baseline_ms) return {};
  return {fmt::format("{} is slower than {}{}, {} against {} ms ({} as fast): {}.", row.setting.precision,
                      cell.baseline->setting.precision, at_shape(row), milliseconds(row),
                      format_significant(*baseline_ms), times(*row.speedup->speedup), why_not_faster(cell, row)),
          {}};
}

Judgement says_mixed_size(const Cell& cell, const Record& row) {
  const Precision* precision = precision_row(row);
  if (!precision || precision->rule != Activations::autocast_lists || !row.memory->model_bytes || !cell.baseline)
    return {};
  if (is_overridden(row)) return {};
  std::string text = fmt::format("{} stores {}, as {} does: its weights stay {} and are cast for the matmuls",
                                 row.setting.precision, megabytes(static_cast<double>(*row.memory->model_bytes)),
                                 cell.baseline->setting.precision, name(precision->weights));
  if (row.memory->packed_bytes) {
    text +=
        fmt::format("; packed for the kernels it keeps {}", megabytes(static_cast<double>(*row.memory->packed_bytes)));
  }
  return {text + ".", {}};
}

std::string memory_rate(const Record& row) {
  const std::optional<double> pass_ms = work_ms(row);
  const std::optional<double> bytes = bytes_a_run(row);
  if (!bytes || row.evidence.bandwidth_bytes_per_s.value_or(0) <= 0 || !pass_ms) return "";
  const double share = *bytes / (*pass_ms * 1e-3) / *row.evidence.bandwidth_bytes_per_s;
  if (share < 0.5) return "";
  return fmt::format("; reading its weights{} takes {} of the memory bandwidth, which no instruction speeds up",
                     row.generation->kv_bytes_read ? ", keys and values" : "", percent(share));
}

Judgement says_below_matmul(const Cell& cell, const Record& row) {
  const auto ratio = matmul_ratio(row);
  if (is_baseline(cell, row) || !cell.baseline || !ratio || *ratio <= 1.1 || !row.speedup->speedup) return {};
  if (*row.speedup->speedup >= 0.9 * *ratio || *row.speedup->speedup <= 1) return {};
  return {fmt::format("{} is {} as fast as {}{} though its matmuls peak at {}: {}{}.", row.setting.precision,
                      times(*row.speedup->speedup), cell.baseline->setting.precision, at_shape(row), times(*ratio),
                      where_it_stays(*cell.baseline, row), memory_rate(row)),
          {}};
}

Judgement says_widened(const Cell&, const Record& row) {
  const LedgerRow* dominant = dominant_row(row.evidence.ledger);
  const Precision* precision = precision_row(row);
  if (!dominant || !precision || is_overridden(row) || is_defined_operand(*precision, dominant->operand)) return {};
  return {fmt::format("{} multiplies in {}, not in {}: {}.", row.setting.precision, name(dominant->operand),
                      name(precision->operand), name(dominant->verdict)),
          {}};
}

Judgement says_quality(const Cell& cell, const Record& row) {
  if (is_baseline(cell, row) || !is_quality_changed(row).value_or(false)) return {};
  if (row.difference->delta_log_perplexity && row.difference->delta_log_perplexity_low &&
      row.difference->delta_log_perplexity_high) {
    return {fmt::format("{} changes log-perplexity by {:+.4f} nat, 95 % [{:+.4f}, {:+.4f}]{}{}: more than noise.",
                        row.setting.precision, *row.difference->delta_log_perplexity,
                        *row.difference->delta_log_perplexity_low, *row.difference->delta_log_perplexity_high,
                        row.quality->perplexity
                            ? fmt::format(" (perplexity {})", format_significant(*row.quality->perplexity, 4))
                            : "",
                        part_scored_words(row)),
            {}};
  }
  if (!row.difference->mcnemar_p) return {};
  return {fmt::format("{} changes accuracy by {:+.2f} points (McNemar p = {}){}: more than noise.",
                      row.setting.precision, 100 * row.difference->accuracy_change.value_or(0),
                      format_significant(*row.difference->mcnemar_p, 2), part_scored_words(row)),
          {}};
}

Judgement says_first_call(const Cell& cell, const Record&) {
  const Record* worst = nullptr;
  double most = 3;
  for (const Record* row : cell.measured) {
    if (!row->latency->first_ms || row->latency->median_ms.value_or(0) <= 0 ||
        *row->latency->first_ms / *row->latency->median_ms <= most)
      continue;
    most = *row->latency->first_ms / *row->latency->median_ms;
    worst = row;
  }
  if (!worst) return {};
  return {fmt::format(
              "The first run of {}{} took {} ms, {} its median: packing, page-in and set-up, not part of the figures.",
              worst->setting.precision, at_shape(*worst), format_significant(*worst->latency->first_ms), times(most)),
          {}};
}

/// What skipping padding saved, and what padding still runs.
Judgement says_padding(const Cell& cell, const Record& first) {
  constexpr double much = 0.2;
  if (first.setting.timed_inputs != InputsOf::data) return {};
  const auto row = std::find_if(cell.measured.begin(), cell.measured.end(), [](const Record* one) {
    return one->latency->padding_cost_low && one->latency->padding_cost_high;
  });
  const double left = first.rates.padding_share.value_or(0);
  std::string text;
  if (row != cell.measured.end()) {
    const Latency& latency = *(*row)->latency;
    text = fmt::format("Padding to {} ids would cost {} [{}, {}] the time ({}): it was skipped", first.setting.seq,
                       times(*latency.padding_cost), format_significant(*latency.padding_cost_low),
                       format_significant(*latency.padding_cost_high), (*row)->setting.precision);
  }
  if (left > much)
    text += fmt::format("{}{} of the positions that ran at {} x {} are padding", text.empty() ? "" : "; ",
                        percent(left), first.setting.batch, first.setting.seq);
  return {text.empty() ? text : text + ".", {}};
}

template <typename Less>
const Record* best_of(const std::vector<const Record*>& rows, Less&& less) {
  const auto best = std::min_element(rows.begin(), rows.end(), less);
  return best == rows.end() ? nullptr : *best;
}

/// Round by round over its baseline, which is 1 itself; absent where there is no baseline.
std::optional<double> speedup_of(const Record& row) {
  return row.setting.precision == row.setting.baseline ? 1.0 : row.speedup->speedup;
}

/// By the paired speed-ups, which hold beyond a group too; by the medians where a row has none.
bool is_faster(const Record* a, const Record* b) {
  const auto of_a = speedup_of(*a);
  const auto of_b = speedup_of(*b);
  if (of_a && of_b && *of_a != *of_b) return *of_a > *of_b;
  if (were_interleaved(*a, *b))
    return a->latency->median_ms.value_or(INFINITY) < b->latency->median_ms.value_or(INFINITY);
  return of_a.value_or(0) > of_b.value_or(0);
}

/// Beyond doubt where there is an interval.
bool is_faster_than_baseline(const Record* row) {
  return row->speedup->speedup_low.value_or(row->speedup->speedup.value_or(0)) > 1;
}

std::string speed_of(const Record& row) {
  if (!row.speedup->speedup || row.setting.precision == row.setting.baseline) return milliseconds(row);
  const std::string text = milliseconds(row) + ", " + times(*row.speedup->speedup);
  if (!row.speedup->speedup_low || !row.speedup->speedup_high) return text;
  return fmt::format("{} [{}, {}]", text, format_significant(*row.speedup->speedup_low),
                     format_significant(*row.speedup->speedup_high));
}

std::string for_latency(const Cell& cell) {
  const Record* fastest = best_of(cell.measured, is_faster);
  const char* aim = is_of_training(fastest->setting.mode) ? "for time" : "for latency";
  if (speedup_of(*fastest).value_or(1) < 1)  // The baseline is not among them.
    return fmt::format("{} {}, since all others are slower", aim, fastest->setting.baseline);
  std::string text = fmt::format("{} {} ({})", aim, fastest->setting.precision, speed_of(*fastest));
  for (const Record* row : cell.measured) {
    if (row == fastest) continue;
    if (!were_interleaved(*row, *fastest)) {
      text += fmt::format(", compared with {} by speed-ups since the two were not timed interleaved",
                          row->setting.precision);
    } else if (row->latency->ci_low_ms && fastest->latency->ci_low_ms && is_tie(*row, *fastest)) {
      text += fmt::format(", with {} not told apart from it", row->setting.precision);
    }
  }
  return text;
}

std::vector<const Record*> rows_that_are(const Cell& cell, Equivalence wanted) {
  std::vector<const Record*> rows;
  for (const Record* row : cell.measured) {
    if (!is_baseline(cell, *row) && quality_equivalence(*row) == wanted) rows.push_back(row);
  }
  return rows;
}

std::string for_quality(const Cell& cell) {
  if (!cell.baseline || is_of_training(cell.baseline->setting.mode)) return "";
  const bool any = std::any_of(cell.measured.begin(), cell.measured.end(),
                               [](const Record* row) { return quality_equivalence(*row).has_value(); });
  if (!any) return "for quality no advice (no scores against the baseline)";
  std::vector<const Record*> equal = rows_that_are(cell, Equivalence::equal);
  const bool has_equals = !equal.empty();
  std::erase_if(equal, [](const Record* row) { return !is_faster_than_baseline(row); });
  const Record* fastest = equal.empty() ? cell.baseline : best_of(equal, is_faster);
  return fmt::format("for speed at {}'s quality{} {} ({}){}", cell.baseline->setting.precision,
                     part_scored_words(*cell.baseline), fastest->setting.precision, speed_of(*fastest),
                     has_equals && equal.empty() ? ", for none of that quality is faster beyond doubt" : "");
}

Judgement says_quality_unknown(const Cell& cell, const Record&) {
  const std::vector<const Record*> unknown = rows_that_are(cell, Equivalence::cannot_tell);
  if (unknown.empty() || !cell.baseline) return {};
  std::string names;
  for (const Record* row : unknown) names += (names.empty() ? "" : ", ") + row->setting.precision;
  return {
      fmt::format("Whether the quality of {} equals {}'s cannot be told from {}: the 95 % interval of the change is "
                  "not within {} nat or {} point of none, nor outside.",
                  names, cell.baseline->setting.precision, scored_words(*unknown.front()), log_perplexity_margin,
                  100 * accuracy_margin),
      {}};
}

/// What is left out, and what a baseline that is left out takes with it.
Judgement says_not_finite(const Cell& cell, const Record&) {
  std::string text;
  for (const Record* row : cell.records) {
    if (row->outcome.status != Status::not_finite) continue;
    const std::string reason = row->outcome.reason.value_or("no reason was given");
    if (!text.empty()) text += " ";
    text += row == not_finite_baseline(cell)
                ? fmt::format("{} is not finite ({}): nothing is compared with it, and no precision is advised.",
                              row->setting.precision, reason)
                : fmt::format("{} is not finite ({}): it is no choice here, however fast or small.",
                              row->setting.precision, reason);
  }
  return {text, {}};
}

Judgement says_doubtful(const Cell& cell, const Record&) {
  if (cell.doubtful.empty()) return {};
  std::string names;
  for (const Record* row : cell.doubtful) names += (names.empty() ? "" : ", ") + row->setting.precision;
  return {fmt::format("Nothing is concluded from {}{}: grade D.", names, at_shape(*cell.doubtful.front())), {}};
}

/// The row with the fewest bytes, the faster one where two have as many; null where none says.
const Record* smallest_by(const Cell& cell, std::optional<std::int64_t> MemoryUse::*bytes) {
  std::vector<const Record*> sized;
  for (const Record* row : cell.measured) {
    if ((*row->memory).*bytes) sized.push_back(row);
  }
  return best_of(sized, [&](const Record* a, const Record* b) {
    const std::int64_t mine = *((*a->memory).*bytes);
    const std::int64_t other = *((*b->memory).*bytes);
    return mine < other || (mine == other && is_faster(a, b));
  });
}

/// A model is kept in its stored size, and trained in the peak of a step.
std::string for_size(const Cell& cell) {
  const bool training = is_of_training(cell.measured.front()->setting.mode);
  const auto bytes = training ? &MemoryUse::peak_bytes : &MemoryUse::model_bytes;
  const Record* smallest = smallest_by(cell, bytes);
  if (!smallest) return "";
  return fmt::format("for {} {} ({})", training ? "memory" : "size", smallest->setting.precision,
                     megabytes(static_cast<double>(*((*smallest->memory).*bytes))));
}

Judgement says_advice(const Cell& cell, const Record& first) {
  if (cell.measured.size() < 2 || not_finite_baseline(cell) != nullptr) return {};
  if (is_of_program(first.setting.mode)) return {};  // Commands are no precisions to choose from.
  const bool generates = is_of_generation(first.setting.mode);
  std::string text = generates ? fmt::format("For {} take {}", generation_cell_words(first.setting), for_latency(cell))
                               : fmt::format("At batch {} and {} tokens take {}", first.setting.batch,
                                             first.setting.seq, for_latency(cell));
  for (const std::string& part : {for_quality(cell), for_size(cell)}) {
    if (!part.empty()) text += "; " + part;
  }
  return {text + ".", {}};
}

constexpr Rule findings[] = {
    {.id = "advice",
     .kind = RuleKind::finding,
     .scope = RuleScope::cell,
     .evidence = "median_ms; quality fields; model_bytes",
     .states =
         "The fastest precision by its paired speed-up, the fastest one whose quality equals the baseline's (the "
         "interval of its change lies within 0.01 nat or 1 point) and that is faster beyond doubt (its speed-up's "
         "interval above 1), and the smallest; in training the fastest and the one with the lowest peak.",
     .judge = says_advice,
     .severity = Severity::info,
     .remedy = "Nothing to mend."},
    {.id = "slower",
     .kind = RuleKind::finding,
     .evidence = "speedup, speedup_high, ledger, matmul peaks",
     .states = "A precision is slower than the baseline (the whole interval below 1), and why.",
     .judge = says_slower,
     .severity = Severity::low,
     .remedy = "Use the baseline here, or larger shapes, or a machine with a matrix unit for this dtype."},
    {.id = "below_matmul",
     .kind = RuleKind::finding,
     .evidence = "speedup, matmul peaks, operation_ms of both",
     .states = "The speed-up stays under 0.9x the ratio of the matmul peaks; what products and all else took in the "
               "traced runs of both.",
     .judge = says_below_matmul,
     .severity = Severity::info,
     .remedy =
         "Fuse what surrounds the matmuls, or use larger shapes; `assay profile --against` shows where time goes."},
    {.id = "other_operands",
     .kind = RuleKind::finding,
     .evidence = "ledger",
     .states = "The matmuls multiply in another dtype than the precision's.",
     .judge = says_widened,
     .severity = Severity::low,
     .remedy = "Name the run after what multiplied, or use a machine that has the instruction."},
    {.id = "mixed_size",
     .kind = RuleKind::finding,
     .evidence = "model_bytes",
     .states = "Why a mixed precision has the baseline's size.",
     .judge = says_mixed_size,
     .severity = Severity::info,
     .remedy = "Quote its size as the baseline's."},
    {.id = "quality_changed",
     .kind = RuleKind::finding,
     .evidence = "the interval of delta_log_perplexity, or mcnemar_p",
     .states = "The interval of the change leaves 0 out, or McNemar's p is at most 0.05.",
     .judge = says_quality,
     .severity = Severity::low,
     .remedy = "Weigh it against what is gained, or keep sensitive roles wider (`--with head=f32`)."},
    {.id = "quality_unknown",
     .kind = RuleKind::finding,
     .scope = RuleScope::cell,
     .evidence = "the interval of delta_log_perplexity or of accuracy_change",
     .states = "The interval of the change lies neither within the margin nor outside of it.",
     .judge = says_quality_unknown,
     .severity = Severity::low,
     .remedy = "Score more data (`--tokens`, `--data`)."},
    {.id = "not_finite",
     .kind = RuleKind::finding,
     .scope = RuleScope::cell,
     .evidence = "status, reason",
     .states = "Rows whose output holds NaN or infinity are left out of all findings; where the baseline is one, "
               "nothing is compared with it and no precision is advised.",
     .judge = says_not_finite,
     .severity = Severity::medium,
     .remedy = "Use a dtype with more range where it began (`--with mlp=f32`); of a baseline, look at the weights."},
    {.id = "grade_d",
     .kind = RuleKind::finding,
     .scope = RuleScope::cell,
     .evidence = "trust",
     .states = "Rows of grade D are left out of all findings.",
     .judge = says_doubtful,
     .severity = Severity::low,
     .remedy = "See the row's reasons for its grade."},
    {.id = "first_call",
     .kind = RuleKind::finding,
     .scope = RuleScope::cell,
     .evidence = "first_ms, median_ms",
     .states = "A first run took more than three times the median.",
     .judge = says_first_call,
     .severity = Severity::info,
     .remedy = "Exclude first calls from latency, and say so."},
    {.id = "padding",
     .kind = RuleKind::finding,
     .scope = RuleScope::cell,
     .evidence = "timed_inputs, padding_cost, padding_share",
     .states =
         "Of timed data: what running it at its full length would cost, and where over 20 % of what ran is padding.",
     .judge = says_padding,
     .severity = Severity::info,
     .remedy = "Bring rows of one length together (`--order sorted|bucketed`), and do not pad to the longest of all."},
};

}  // namespace

std::span<const Rule> finding_rules() {
  return findings;
}

}  // namespace assay
