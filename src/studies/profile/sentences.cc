#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "program/operation.h"
#include "studies/profile/run.h"

namespace assay {
namespace {

double sum_ms(const std::vector<ProfiledStep>& steps, const std::function<bool(const ProfiledStep&)>& counts) {
  double total = 0;
  for (const ProfiledStep& step : steps) total += counts(step) ? step.ms : 0;
  return total;
}

double percent_of(double part, double whole) {
  return whole > 0 ? 100 * part / whole : 0;
}

std::string ms_text(double ms) {
  return format_significant(ms) + " ms";
}

std::string forward_against_untraced(const ProfileStudy& study) {
  const Profile& p = study.profile;
  const auto forward = static_cast<std::size_t>(Phase::forward);
  const double steps = sum_ms(p.steps, [](const ProfiledStep& step) { return step.phase == Phase::forward; });
  return fmt::format(
      "The forward pass: its steps take {} together (sum of medians), {} from the first step's begin to the last one's "
      "end with a clock around each, {} untraced: tracing shows {:.1f} % of the untraced time.",
      ms_text(steps), ms_text(p.traced_ms[forward]), ms_text(p.untraced_ms[forward]),
      percent_of(steps, p.untraced_ms[forward]));
}

std::string top_kernel(const std::vector<ProfiledStep>& steps, const char* where, const MachineFacts& facts) {
  const auto by_kernel = [](const ProfiledStep& step) { return step.operation + " by " + step.kernel; };
  const ProfileRow top = rows_by(steps, by_kernel, facts).front();
  const double total = sum_ms(steps, [](const ProfiledStep&) { return true; });
  return fmt::format("{} the kernel with the most time is {}: it runs {} times and takes {} ({:.1f} %).", where,
                     top.name, top.calls, ms_text(top.ms), percent_of(top.ms, total));
}

std::string top_kernels(const ProfileStudy& study) {
  std::vector<ProfiledStep> forward = study.profile.steps;
  std::erase_if(forward, [](const ProfiledStep& step) { return step.phase != Phase::forward; });
  std::string text = top_kernel(forward, "In the forward pass", study.facts);
  if (study.profile.mode == RunMode::train)
    text += " " + top_kernel(study.profile.steps, "In the whole step", study.facts);
  return text;
}

std::string besides_matmul(const ProfileStudy& study) {
  std::vector<ProfiledStep> rest = study.profile.steps;
  const double total = study.profile.steps_ms();
  std::erase_if(rest, [](const ProfiledStep& step) { return step.kind == OperationKind::matmul; });
  const auto rows = rows_by(rest, [](const ProfiledStep& step) { return step.operation; }, study.facts);
  std::string text = "Besides matrix products, time goes to";
  constexpr std::size_t most = 5;
  for (std::size_t i = 0; i < std::min(most, rows.size()); ++i)
    text += fmt::format("{} {} ({:.1f} %, {} call{})", i == 0 ? "" : ",", rows[i].name, percent_of(rows[i].ms, total),
                        rows[i].calls, rows[i].calls == 1 ? "" : "s");
  const double all = sum_ms(rest, [](const ProfiledStep&) { return true; });
  return text + fmt::format("; all of it is {:.1f} %.", percent_of(all, total));
}

double matmul_share(const std::vector<ProfiledStep>& steps, const std::function<bool(const ProfiledStep&)>& among) {
  const double whole = sum_ms(steps, among);
  return percent_of(sum_ms(steps, [&](const ProfiledStep& s) { return among(s) && s.kind == OperationKind::matmul; }),
                    whole);
}

std::string matmul_share_moves(const ProfileStudy& study) {
  const auto all = [](const ProfiledStep&) { return true; };
  const auto in = [](Phase phase) { return [phase](const ProfiledStep& step) { return step.phase == phase; }; };
  const std::vector<ProfiledStep>& steps = study.profile.steps;
  const double optimizer = sum_ms(steps, in(Phase::optimizer));
  return fmt::format(
      "The share of matrix products is {:.1f} % of inference, {:.1f} % of the step's forward, {:.1f} % of its backward "
      "and {:.1f} % of the full step with AdamW; the optimizer, which multiplies no matrices, takes {:.1f} % of the "
      "step.",
      matmul_share(study.inference->steps, all), matmul_share(steps, in(Phase::forward)),
      matmul_share(steps, in(Phase::backward)), matmul_share(steps, all),
      percent_of(optimizer, study.profile.steps_ms()));
}

struct Cost {
  double ms = 0;
  double flops = 0;
};

Cost cost_of(const Profile& profile, std::initializer_list<const Operation*> operations) {
  Cost cost;
  for (const ProfiledStep& step : profile.steps) {
    const bool counts = step.phase == Phase::forward &&
                        std::any_of(operations.begin(), operations.end(),
                                    [&](const Operation* operation) { return step.operation == operation->name; });
    if (!counts) continue;
    cost.ms += step.ms;
    cost.flops += step.flops;
  }
  return cost;
}

std::string softmax_against_matmuls(const ProfileStudy& study) {
  const Cost softmax = cost_of(study.profile, {&op::softmax});
  const Cost matmuls = cost_of(study.profile, {&op::attention_scores, &op::attention_context});
  const std::string convention = " FLOPs of a softmax are counted as 5 an element (max, subtract, exp, sum, divide).";
  if (softmax.ms <= 0 || matmuls.ms <= 0) {
    return "Attention runs as one kernel here, so softmax has no time of its own; --fusion off runs its parts apart." +
           convention;
  }
  return fmt::format(
             "Softmax against the two matrix products of attention, forward: {} against {} ({:.2f} of their time), "
             "with {:.3f} GFLOP against {:.3f} ({:.3f} of theirs): an operation of the softmax takes {:.1f}x as long.",
             ms_text(softmax.ms), ms_text(matmuls.ms), softmax.ms / matmuls.ms, softmax.flops / 1e9,
             matmuls.flops / 1e9, softmax.flops / matmuls.flops,
             (softmax.ms / softmax.flops) / (matmuls.ms / matmuls.flops)) +
         convention;
}

std::string tracing_cost(const ProfileStudy& study) {
  const Profile& p = study.profile;
  const auto steps = static_cast<double>(p.steps.size());
  std::string text =
      fmt::format("Tracing: {} traced, {} untraced", ms_text(p.total_traced_ms()), ms_text(p.total_untraced_ms()));
  if (p.tracing) {
    text += fmt::format(", ratio {:.4f}", p.tracing->value);
    if (p.tracing->interval)
      text += fmt::format(" (95 %: {:.4f} to {:.4f})", p.tracing->interval->low, p.tracing->interval->high);
  }
  return text + fmt::format(
                    " over {} interleaved rounds. Two readings of the clock a step take {:.0f} ns, {:.4f} ms in {} "
                    "steps: {:.3f} % of this run, and the more the smaller the model.",
                    p.rounds, 2e9 * study.clock_cost_s, 2e3 * study.clock_cost_s * steps, p.steps.size(),
                    percent_of(2e3 * study.clock_cost_s * steps, p.total_untraced_ms()));
}

std::string amdahl_words(const ProfileStudy& study) {
  const std::vector<AmdahlPart> parts = amdahl(*study.against, study.profile);
  double after = 0;
  double matmul_share = 0;
  double matmul_part = 0;
  for (const AmdahlPart& part : parts) {
    after += part.part;
    if (part.kind != OperationKind::matmul) continue;
    matmul_share = part.share;
    matmul_part = part.part;
  }
  std::string text =
      fmt::format("{} against {}: {:.2f}x", study.profile.precision, study.against->precision, 1 / after);
  if (matmul_part > 0) {
    text += fmt::format(
        ". Matrix products were {:.1f} % of the time and are {:.2f}x as fast, "
        "which alone would make the whole {:.2f}x; "
        "had they become free, the rest as it is now would allow {:.2f}x",
        100 * matmul_share, matmul_share / matmul_part, 1 / (1 - matmul_share + matmul_part),
        1 / (after - matmul_part));
  }
  for (const AmdahlPart& part : parts) {
    if (part.kind == OperationKind::casts && part.calls_after > 0)
      text += fmt::format("; casts add {:.1f} % of the old time", 100 * (part.part - part.share));
  }
  return text + ".";
}

}  // namespace

std::vector<std::string> profile_sentences(const ProfileStudy& study) {
  std::vector<std::string> paragraphs = {forward_against_untraced(study), top_kernels(study), besides_matmul(study)};
  if (study.inference) paragraphs.push_back(matmul_share_moves(study));
  paragraphs.push_back(softmax_against_matmuls(study));
  if (study.against) paragraphs.push_back(amdahl_words(study));
  paragraphs.push_back(tracing_cost(study));
  for (const Profile* profile : {&study.profile, study.against ? &*study.against : nullptr}) {
    if (profile == nullptr || !profile->not_finite) continue;
    paragraphs.push_back(fmt::format("What {} computed is no number, and its times are of nothing that is of use: {}.",
                                     profile->precision, *profile->not_finite));
  }
  return paragraphs;
}

}  // namespace assay
