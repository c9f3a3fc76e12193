#include "results/published/checks.h"
#include "results/rule_tables.h"

namespace assay {
namespace {

/// A rule that only printed figures need.
constexpr Rule of_tables(const char* id, Severity severity, const char* evidence, const char* states,
                         const char* remedy, void (*check)(const PublishedTable&, Complaints&)) {
  return {id, RuleKind::finding, ' ', RuleScope::table, evidence, states, nullptr, severity, remedy, check};
}

constexpr Rule published[] = {
    of_tables("placeholder", Severity::medium, "a duration, rate, energy or power of exactly 0",
              "A figure of 0 where something was to be measured.", "Leave the cell empty, and say why.",
              check_placeholders),
    of_tables("std_above_mean", Severity::medium, "a duration and its standard deviation",
              "A duration's standard deviation exceeds its mean.",
              "Warm up, look at the raw samples, and give median and quantiles.", check_spread),
    of_tables(
        "derived_by_subtraction", Severity::medium, "standard deviations of forward, backward and total",
        "The backward pass's deviation is the root of the squares of the other two: it was subtracted, not timed.",
        "Time the backward pass by itself, with a synchronisation before and after.", check_subtraction),
    of_tables("parts_and_total", Severity::medium, "forward, backward and total durations",
              "The parts add up to more than the total, by more than 5 %.", "Time all of them in the same runs.",
              check_parts),
    of_tables("launch_bound", Severity::medium, "durations of three models or more, their layers and parameters",
              "Times follow the number of layers, or nothing, where the work grows.",
              "Use larger batches, CUDA graphs or compilation before comparing precisions.", check_launch_bound),
    of_tables("energy_and_power", Severity::medium, "energy, power and latency of a row",
              "Energy is not power times latency, within 10 %, for one item or the batch.",
              "Integrate power over the very windows that were timed.", check_energy_and_power),
    of_tables("ratio_mismatch", Severity::high, "a claimed ratio and the two figures behind it",
              "A claimed speed-up, saving or reduction is not what the figures give, beyond their rounding.",
              "Compute ratios from the figures that are printed.", check_ratios),
    of_tables("claim_mismatch", Severity::high, "a sentence that holds a ratio and both its figures",
              "'30x more' in the text beside a table, where its own two figures give another ratio.",
              "Compute ratios from the figures that are printed.", check_claims),
    of_tables("size_parameters", Severity::medium, "model size, precision, number of parameters",
              "A size below what the parameters take in that precision, or above 4.5 bytes each.",
              "Count bytes as stored, and say what the file holds besides weights.", check_size_parameters),
    of_tables("accuracy_range", Severity::medium, "accuracy; model, data set and rows where known",
              "An accuracy that is no share, or outside of what the model reaches on the data.",
              "Check labels, tokenisation and which rows were scored.", check_accuracy_range),
    of_tables("near_peak", Severity::medium, "durations, model, shape and device; fp32",
              "A whole model at 85 % or more of the device's fp32 peak: TF32 may have been on.",
              "Switch TF32 off, or call the row tf32.", check_near_peak),
    of_tables("within_spread", Severity::low, "two durations and their standard deviations",
              "Two precisions differ by less than their spread.", "Give the number of runs and an interval.",
              check_within_spread),
    of_tables("no_spread", Severity::info, "columns of the table", "Neither a spread nor a number of runs is given.",
              "Give a spread, and how many runs it is of.", check_no_spread),
};

}  // namespace

std::span<const Rule> published_rules() {
  return published;
}

}  // namespace assay
