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

using StepFilter = std::function<bool(const ProfiledStep&)>;

bool is_any(const ProfiledStep&) {
  return true;
}

StepFilter in(Phase phase) {
  return [phase](const ProfiledStep& step) { return step.phase == phase; };
}

/// What part of those steps is matrix products; fused attention, of which nobody knows what part, stands beside it.
std::string product_share(const std::vector<ProfiledStep>& steps, const StepFilter& among) {
  const double whole = sum_ms(steps, among);
  const auto share = [&](ProductShare products) {
    return percent_of(sum_ms(steps, [&](const ProfiledStep& s) { return among(s) && s.products == products; }), whole);
  };
  const double fused = share(ProductShare::some);
  return fmt::format("{:.1f} %{}", share(ProductShare::all),
                     fused > 0 ? fmt::format(" (and {:.1f} % fused attention)", fused) : "");
}

std::string besides_products(const ProfileStudy& study) {
  std::vector<ProfiledStep> rest = study.profile.steps;
  const double total = study.profile.steps_ms();
  std::erase_if(rest, [](const ProfiledStep& step) { return step.products != ProductShare::none; });
  const auto rows = rows_by(rest, [](const ProfiledStep& step) { return step.operation; }, study.facts);
  std::string text =
      fmt::format("Besides matrix products, {}, time goes to", product_share(study.profile.steps, is_any));
  constexpr std::size_t most = 5;
  for (std::size_t i = 0; i < std::min(most, rows.size()); ++i)
    text += fmt::format("{} {} ({:.1f} %, {} call{})", i == 0 ? "" : ",", rows[i].name, percent_of(rows[i].ms, total),
                        rows[i].calls, rows[i].calls == 1 ? "" : "s");
  return text + fmt::format("; all of it is {:.1f} %.", percent_of(sum_ms(rest, is_any), total));
}

std::string product_share_moves(const ProfileStudy& study) {
  const std::vector<ProfiledStep>& steps = study.profile.steps;
  return fmt::format(
      "The share of matrix products is {} of inference, {} of the step's forward, {} of its backward and {} of the "
      "full "
      "step with AdamW; the optimizer, which multiplies no matrices, takes {:.1f} % of the step.",
      product_share(study.inference->steps, is_any), product_share(steps, in(Phase::forward)),
      product_share(steps, in(Phase::backward)), product_share(steps, is_any),
      percent_of(sum_ms(steps, in(Phase::optimizer)), study.profile.steps_ms()));
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
  const std::string convention =
      " FLOPs count the keys that a query may see, in products and softmax alike: 5 a pair in softmax (max, subtract, "
      "exp, sum, divide).";
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

/// A part of two runs that are compared: how long it took in each.
struct Compared {
  double before_ms = 0;
  double after_ms = 0;
};

Compared compared_times(const ProfileStudy& study, const StepFilter& among) {
  return {sum_ms(study.against->steps, among), sum_ms(study.profile.steps, among)};
}

/// "were 90.6 % of fp32's time and are 1.54x as fast"
std::string compared_words(const Compared& part, const ProfileStudy& study) {
  const double share = percent_of(part.before_ms, study.against->steps_ms());
  if (part.after_ms <= 0)
    return fmt::format("were {:.1f} % of {}'s time and are gone", share, study.against->precision);
  return fmt::format("were {:.1f} % of {}'s time and are {:.2f}x as fast", share, study.against->precision,
                     part.before_ms / part.after_ms);
}

/// How much faster the best matmuls measured here would make those steps; 0: not measured.
double peak_ratio(const ProfileStudy& study, const StepFilter& among) {
  const auto floor_ms = [&](std::vector<ProfiledStep> steps) {
    std::erase_if(steps, [&](const ProfiledStep& step) { return !among(step); });
    double total = 0;
    for (const ProfileRow& row : rows_by(steps, [](const ProfiledStep&) { return std::string(); }, study.facts))
      total += row.compute_floor_ms;
    return total;
  };
  const double after = floor_ms(study.profile.steps);
  return after > 0 ? floor_ms(study.against->steps) / after : 0;
}

/// How the time that lies between the run and a run at the peaks' ratio divides into the parts.
std::string gap_words(const ProfileStudy& study, const Compared& products, double ratio) {
  const double gap_ms = study.profile.steps_ms() - study.against->steps_ms() / ratio;
  const double of_products_ms = products.after_ms - products.before_ms / ratio;
  if (ratio <= 1 || gap_ms <= 0) return "";
  if (of_products_ms <= 0 || of_products_ms >= gap_ms) {
    return fmt::format(" What keeps the whole from {:.2f}x, {} more a run, is {}.", ratio, ms_text(gap_ms),
                       of_products_ms <= 0 ? "what surrounds the products" : "products below their peak's ratio");
  }
  return fmt::format(
      " What keeps the whole from {:.2f}x is {} more a run: {:.1f} % of that are products that gain less than their "
      "peak, {:.1f} % what speeds up less or not at all.",
      ratio, ms_text(gap_ms), percent_of(of_products_ms, gap_ms), percent_of(gap_ms - of_products_ms, gap_ms));
}

std::string product_words(const ProfileStudy& study) {
  const StepFilter is_product = [](const ProfiledStep& step) { return step.products == ProductShare::all; };
  const Compared products = compared_times(study, is_product);
  if (products.before_ms <= 0 || products.after_ms <= 0) return "";
  const double ratio = peak_ratio(study, is_product);
  std::string text = " Matrix products " + compared_words(products, study);
  if (ratio > 0) text += fmt::format(", where the best matmuls measured here differ by {:.2f}x", ratio);
  const double rest_ms = study.profile.steps_ms() - products.after_ms;
  if (rest_ms > 0) {
    text += fmt::format("; had they become free, the rest as it is now would allow {:.2f}x",
                        study.against->steps_ms() / rest_ms);
  }
  return text + "." + gap_words(study, products, ratio);
}

std::string speedup_words(const ProfileStudy& study) {
  std::string text = fmt::format("{} against {}: {:.2f}x.", study.profile.precision, study.against->precision,
                                 study.against->steps_ms() / study.profile.steps_ms());
  text += product_words(study);
  const Compared fused =
      compared_times(study, [](const ProfiledStep& step) { return step.products == ProductShare::some; });
  if (fused.before_ms > 0) text += fmt::format(" Attention kernels {}.", compared_words(fused, study));
  const Compared rest = compared_times(study, [](const ProfiledStep& step) {
    return step.products == ProductShare::none && step.kind != OperationKind::casts;
  });
  if (rest.before_ms > 0) text += fmt::format(" Other operations {}.", compared_words(rest, study));
  const Compared casts = compared_times(study, [](const ProfiledStep& s) { return s.kind == OperationKind::casts; });
  if (casts.after_ms > casts.before_ms) {
    text += fmt::format(" Casts add {:.1f} % of the old time.",
                        percent_of(casts.after_ms - casts.before_ms, study.against->steps_ms()));
  }
  return text;
}

std::string trust_words(const Profile& profile) {
  std::string text = fmt::format("Times in {} are of grade {}", profile.precision, name(*profile.grade.trust));
  for (std::size_t i = 0; i < profile.grade.trust_reasons.size(); ++i)
    text += (i == 0 ? ": " : "; ") + profile.grade.trust_reasons[i];
  return text + ".";
}

}  // namespace

std::vector<std::string> profile_sentences(const ProfileStudy& study) {
  std::vector<std::string> paragraphs = {forward_against_untraced(study), top_kernels(study), besides_products(study)};
  if (study.inference) paragraphs.push_back(product_share_moves(study));
  paragraphs.push_back(softmax_against_matmuls(study));
  if (study.against) paragraphs.push_back(speedup_words(study));
  paragraphs.push_back(tracing_cost(study));
  for (const Profile* profile : {&study.profile, study.against ? &*study.against : nullptr}) {
    if (profile != nullptr && profile->grade.trust) paragraphs.push_back(trust_words(*profile));
    if (profile == nullptr || !profile->not_finite) continue;
    paragraphs.push_back(fmt::format("What {} computed is no number, and its times are of nothing that is of use: {}.",
                                     profile->precision, *profile->not_finite));
  }
  return paragraphs;
}

}  // namespace assay
