#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "rules/known_models.h"
#include "rules/physics.h"
#include "rules/rule_tables.h"
#include "statistics/statistics.h"

namespace assay {
namespace {

/// Share of the FLOPs of products with weights in rows that `picks` picks; 0 without any.
template <typename Picks>
double linear_share(const Record& row, Picks&& picks) {
  double all = 0;
  double picked = 0;
  for (const LedgerRow& line : row.evidence.ledger) {
    if (!is_linear(line)) continue;
    all += std::max(line.flops, 1.0);
    if (picks(line)) picked += std::max(line.flops, 1.0);
  }
  return all > 0 ? picked / all : 0;
}

bool is_other_row(const Cell& cell, const Record& row) {
  return cell.baseline != nullptr && cell.baseline != &row;
}

/// A kernel that is said to be what was asked for, and multiplies something else. Widened and emulated rows say so
/// themselves.
Judgement says_swapped(const Cell&, const Record& row) {
  const Precision* precision = precision_row(row);
  if (!precision || is_overridden(row)) return {};
  const LedgerRow* worst = nullptr;
  const double share = linear_share(row, [&](const LedgerRow& line) {
    const bool says_native = line.verdict == Verdict::native || line.verdict == Verdict::slow;
    const bool is_swapped = says_native && !is_defined_operand(*precision, line.operand);
    if (is_swapped) worst = &line;
    return is_swapped;
  });
  if (!worst) return {};
  return {fmt::format("{} of {}'s products with weights multiplied {} although {} was asked for and the ledger calls "
                      "them {} ({}): the row is not what its name says.",
                      percent(share), row.setting.precision, name(worst->operand), name(precision->operand),
                      name(worst->verdict), worst->kernel),
          {}};
}

Judgement says_emulated(const Cell&, const Record& row) {
  const double share = linear_share(row, [](const LedgerRow& line) { return line.verdict == Verdict::emulated; });
  if (share == 0) return {};
  return {fmt::format("{} of {}'s products with weights were emulated in another dtype: its speed says nothing of "
                      "hardware that has the instruction.",
                      percent(share), row.setting.precision),
          {}};
}

Judgement says_slow(const Cell&, const Record& row) {
  const double share = linear_share(row, [](const LedgerRow& line) { return line.verdict == Verdict::slow; });
  if (share == 0) return {};
  return {fmt::format("{}'s instructions exist here and run below 0.9x fp32's rate ({} of its products with weights).",
                      row.setting.precision, percent(share)),
          {}};
}

Judgement says_warm_up(const Cell&, const Record& row) {
  const auto ratio = short_warm_up(row);
  if (!ratio || row.setting.warmup_steps) return {};  // Of a warm-up that was asked for the grade says it.
  return {fmt::format("{}'s first samples take {} as long as its later ones: it was still warming up when sampling "
                      "began.",
                      row.setting.precision, times(*ratio)),
          {}};
}

Judgement says_throttled(const Cell&, const Record& row) {
  if (!row.circumstances->frequency_before_mhz || !row.circumstances->frequency_after_mhz ||
      row.latency->raw_ms.size() < 10)
    return {};
  if (*row.circumstances->frequency_after_mhz >= 0.9 * *row.circumstances->frequency_before_mhz) return {};
  const auto half = row.latency->raw_ms.begin() + std::ssize(row.latency->raw_ms) / 2;
  const double slowdown = median(std::vector<double>(half, row.latency->raw_ms.end())) /
                          median(std::vector<double>(row.latency->raw_ms.begin(), half));
  if (!(slowdown > 1.05)) return {};
  const std::string heat = row.circumstances->temperature_after_c
                               ? fmt::format(" at {:.0f} degC", *row.circumstances->temperature_after_c)
                               : std::string();
  return {fmt::format("{} was throttled: the clock fell from {:.0f} to {:.0f} MHz{} and its samples became {} as long.",
                      row.setting.precision, *row.circumstances->frequency_before_mhz,
                      *row.circumstances->frequency_after_mhz, heat, times(slowdown)),
          {}};
}

/// A clock of step S shows few values, all multiples of S.
Judgement says_coarse_clock(const Cell&, const Record& row) {
  if (row.latency->raw_ms.size() < 10 || row.latency->median_ms.value_or(0) <= 0) return {};
  const std::set<double> values(row.latency->raw_ms.begin(), row.latency->raw_ms.end());
  if (3 * values.size() > row.latency->raw_ms.size()) return {};
  double step = values.size() == 1 ? *values.begin() : INFINITY;
  for (auto it = values.begin(); std::next(it) != values.end(); ++it) step = std::min(step, *std::next(it) - *it);
  if (step < 0.01 * *row.latency->median_ms) return {};
  return {fmt::format("{}'s {} samples show only {} values, {} ms apart: the clock is too coarse for windows of {}.",
                      row.setting.precision, row.latency->raw_ms.size(), values.size(), format_significant(step),
                      milliseconds(row)),
          {}};
}

/// Ids a window holds, from "window 128", "stride 512/256", "padded-lines 128"; 0 where the words have no number.
std::int64_t window_of(const std::string& protocol) {
  const auto digit = protocol.find_first_of("0123456789");
  std::int64_t window = 0;
  if (digit != std::string::npos) std::from_chars(&protocol[digit], protocol.data() + protocol.size(), window);
  return window;
}

/// Windows shorter than 64 ids leave a model without context, and no usual figure is known for them.
Judgement says_perplexity(const Cell&, const Record& row) {
  const KnownModel* known = row.setting.weights == "random" ? nullptr : find_known_model(row.setting.model);
  if (!known || !row.quality->perplexity) return {};
  // What the precision itself loses is told as that: the question is what the same text gives in fp32.
  const double of_fp32 = *row.quality->perplexity / std::exp(row.difference->delta_log_perplexity.value_or(0));
  if (is_usual_perplexity(exactly(of_fp32), *known)) return {};
  if (window_of(row.quality->protocol.value_or("")) < 64) return {};
  return {fmt::format(
              "{}'s perplexity of {} lies outside of {}: padding that is scored, a wrong mask, another tokenizer or "
              "other text do that.",
              row.setting.precision, format_significant(*row.quality->perplexity, 4), usual_perplexity_words(*known)),
          {}};
}

/// Of rows filled up to one length some positions are padding; if all were scored, padding was.
Judgement says_scored_padding(const Cell&, const Record& row) {
  const std::string protocol = row.quality->protocol.value_or("");
  const std::int64_t window = window_of(protocol);
  if (!protocol.starts_with("padded") || window < 2 || !row.quality->scored ||
      row.quality->scored_windows.value_or(0) < 2)
    return {};
  if (*row.quality->scored < *row.quality->scored_windows * (window - 1)) return {};
  return {fmt::format("{} scored {} of {} positions of padded rows, every one: padding is scored as text, and the "
                      "perplexity of {} is not the text's.",
                      row.setting.precision, format_count(*row.quality->scored),
                      format_count(*row.quality->scored_windows * (window - 1)),
                      format_significant(row.quality->perplexity.value_or(0), 4)),
          {}};
}

Judgement says_nothing_changed(const Cell& cell, const Record& row) {
  if (!is_other_row(cell, row) || !row.quality->logits_hash ||
      row.quality->logits_hash != cell.baseline->quality->logits_hash)
    return {};
  if (!row.speedup->speedup || std::abs(*row.speedup->speedup - 1) > 0.05) return {};
  return {fmt::format("{} has exactly {}'s logits and {} its speed: it ran as {}.", row.setting.precision,
                      cell.baseline->setting.precision, times(*row.speedup->speedup), cell.baseline->setting.precision),
          {}};
}

Judgement says_equal_accuracy(const Cell& cell, const Record& row) {
  if (!is_other_row(cell, row) || !row.quality->accuracy || row.quality->accuracy != cell.baseline->quality->accuracy)
    return {};
  if (row.quality->logits_hash && row.quality->logits_hash == cell.baseline->quality->logits_hash) return {};
  return {
      fmt::format("{} answers {} of {} rows rightly, as {} does: equal counts may well be right, and prove nothing.",
                  row.setting.precision, format_count(row.quality->correct.value_or(0)),
                  format_count(row.quality->scored.value_or(0)), cell.baseline->setting.precision),
      {}};
}

Judgement says_accuracy_noise(const Cell& cell, const Record& row) {
  if (!is_other_row(cell, row) || row.difference->accuracy_change.value_or(0) == 0 ||
      row.difference->mcnemar_p.value_or(0) <= 0.05)
    return {};
  return {fmt::format("{}'s accuracy differs from {}'s by {:+.2f} points on {} rows, which chance alone does with "
                      "probability {} (McNemar).",
                      row.setting.precision, cell.baseline->setting.precision, 100 * *row.difference->accuracy_change,
                      format_count(row.quality->scored.value_or(0)), format_significant(*row.difference->mcnemar_p, 2)),
          {}};
}

Judgement says_few_samples(const Cell& cell, const Record& row) {
  if (!is_other_row(cell, row) || !row.speedup->speedup_low || !row.speedup->speedup_high || !row.speedup->speedup)
    return {};
  if (*row.speedup->speedup_low >= 1 || *row.speedup->speedup_high <= 1 || std::abs(*row.speedup->speedup - 1) < 0.01)
    return {};
  return {
      fmt::format("{} samples do not tell {} from {}: the speed-up of {} lies between {} and {}.", row.latency->samples,
                  row.setting.precision, cell.baseline->setting.precision, times(*row.speedup->speedup),
                  times(*row.speedup->speedup_low), times(*row.speedup->speedup_high)),
      {}};
}

/// Nothing in a run becomes faster by more than its matmuls, or its bytes, do.
Judgement says_above_peaks(const Cell& cell, const Record& row) {
  const auto ratio = matmul_ratio(row);
  if (!is_other_row(cell, row) || !ratio || !row.speedup->speedup_low || are_peaks_busy(row)) return {};
  double bytes = 1;
  if (row.evidence.moved_bytes.value_or(0) > 0)
    bytes = cell.baseline->evidence.moved_bytes.value_or(0) / *row.evidence.moved_bytes;
  if (row.evidence.weight_bytes_read.value_or(0) > 0)
    bytes = std::max(bytes, cell.baseline->evidence.weight_bytes_read.value_or(0) / *row.evidence.weight_bytes_read);
  const double most = most_speedup(*ratio, bytes);
  if (*row.speedup->speedup_low <= 1.3 * most) return {};
  return {fmt::format("{} is at least {} as fast as {}, though its matmuls are {} as fast and it moves {} as little: "
                      "one of the two did not do the same work.",
                      row.setting.precision, times(*row.speedup->speedup_low), cell.baseline->setting.precision,
                      times(*ratio), times(bytes)),
          {},
          *row.speedup->speedup_low > 2 * most ? Severity::high : Severity::medium};
}

Judgement says_left_behind(const Cell&, const Record& row) {
  const ProgramRun& run = *row.program_run;
  if (run.daemons_left.value_or(0) <= 0) return {};
  const std::int64_t ended = run.daemons_ended.value_or(0);
  const std::int64_t stayed = *run.daemons_left - ended;
  const std::string text = fmt::format(
      "{}'s runs left {} processes running when they had ended: ", row.setting.precision, *run.daemons_left);
  if (stayed <= 0) return {text + fmt::format("{} were ended, each before the next run.", ended), {}, Severity::low};
  return {text + fmt::format("{} were ended, {} shared the processors with later samples, {} of them are alive.", ended,
                             stayed, run.daemons_alive.value_or(0)),
          {}};
}

constexpr Rule suspicions[] = {
    {.id = "left_behind",
     .kind = RuleKind::finding,
     .evidence = "daemons_left, daemons_ended, daemons_alive",
     .states = "The runs of a program left processes that lived on for more than 0.1 s (low where all were ended).",
     .judge = says_left_behind,
     .severity = Severity::medium,
     .remedy = "`measure --end-daemons`, or have the program end what it starts."},
    {.id = "swapped_kernel",
     .kind = RuleKind::finding,
     .evidence = "ledger",
     .states = "Products with weights multiplied another dtype than asked for, in kernels that are called native.",
     .judge = says_swapped,
     .severity = Severity::high,
     .remedy = "Name the row after what ran, or find out why the kernel was chosen (`assay explain`)."},
    {.id = "emulated",
     .kind = RuleKind::finding,
     .evidence = "ledger",
     .states = "Products with weights ran in a dtype that the machine only emulates (of tables: high).",
     .judge = says_emulated,
     .severity = Severity::medium,
     .remedy = "Leave the precision out on this machine."},
    {.id = "slow_precision",
     .kind = RuleKind::finding,
     .evidence = "ledger",
     .states = "The instruction exists, and is slower than fp32's (of tables: medium).",
     .judge = says_slow,
     .severity = Severity::low,
     .remedy = "Use it for its memory only, or another precision."},
    {.id = "warm_up_short",
     .kind = RuleKind::finding,
     .evidence = "raw_ms",
     .states =
         "The first tenth of at least 20 samples takes more than 1.25x what the second half does (`short_warm_up`).",
     .judge = says_warm_up,
     .severity = Severity::medium,
     .remedy = "Warm up until the times stand still, and leave the first runs out."},
    {.id = "throttled",
     .kind = RuleKind::finding,
     .evidence = "frequency_before_mhz, frequency_after_mhz, raw_ms",
     .states = "The clock fell by more than 10 % and the samples became more than 5 % longer.",
     .judge = says_throttled,
     .severity = Severity::medium,
     .remedy = "Cool the machine, cap its power, or pause between windows."},
    {.id = "coarse_clock",
     .kind = RuleKind::finding,
     .evidence = "raw_ms",
     .states = "The samples take few values that lie more than 1 % of the median apart.",
     .judge = says_coarse_clock,
     .severity = Severity::medium,
     .remedy = "Repeat the work within a window, or use a finer clock."},
    {.id = "perplexity_range",
     .kind = RuleKind::finding,
     .evidence = "perplexity, protocol, weights",
     .states = "A known model's perplexity lies outside of what it reaches on English text.",
     .judge = says_perplexity,
     .severity = Severity::high,
     .remedy = "Mask the padding, score each token once, and name text, window and tokenizer."},
    {.id = "scored_padding",
     .kind = RuleKind::finding,
     .evidence = "protocol, scored, scored_windows",
     .states = "Every position of padded rows was scored.",
     .judge = says_scored_padding,
     .severity = Severity::high,
     .remedy = "Score only predictions of real tokens (labels of padding = ignored)."},
    {.id = "nothing_changed",
     .kind = RuleKind::finding,
     .evidence = "logits_hash, speedup",
     .states = "A precision has exactly the baseline's logits and, within 5 %, its speed.",
     .judge = says_nothing_changed,
     .severity = Severity::high,
     .remedy = "Check that the model was cast before it was timed."},
    {.id = "equal_accuracy",
     .kind = RuleKind::finding,
     .evidence = "accuracy",
     .states = "A precision answers exactly as many rows rightly as the baseline: informational.",
     .judge = says_equal_accuracy,
     .severity = Severity::info,
     .remedy = "Compare logits or losses, which tell more."},
    {.id = "accuracy_noise",
     .kind = RuleKind::finding,
     .evidence = "accuracy_change, mcnemar_p",
     .states = "An accuracy differs from the baseline's by what chance gives (McNemar's p above 0.05).",
     .judge = says_accuracy_noise,
     .severity = Severity::info,
     .remedy = "Score more rows before calling one better."},
    {.id = "few_samples",
     .kind = RuleKind::finding,
     .evidence = "speedup, speedup_low, speedup_high, samples",
     .states = "The interval of a speed-up holds 1 although its middle is 1 % or more from it.",
     .judge = says_few_samples,
     .severity = Severity::low,
     .remedy = "Measure longer, or do not claim a difference."},
    {.id = "speedup_above_peaks",
     .kind = RuleKind::finding,
     .evidence = "speedup_low, matmul peaks, moved_bytes",
     .states = "The speed-up exceeds 1.3x the ratio of the matmul peaks and of the bytes moved (high: 2x).",
     .judge = says_above_peaks,
     .severity = Severity::medium,
     .remedy = "Check that both rows did the same work, and that the baseline was not held up."},
};

}  // namespace

std::span<const Rule> suspicion_rules() {
  return suspicions;
}

}  // namespace assay
