#include "published/table_rules.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <vector>

#include "published/checks.h"
#include "rules/rules.h"

namespace assay {
namespace {

/// A rule over records, and what asks the same of a table.
struct SharedRule {
  std::string_view id;
  void (*check)(const PublishedTable& table, Complaints& say);
};

constexpr SharedRule shared_rules[] = {
    {"negative_duration", check_durations},
    {"instruction_peak", check_instruction_peak},
    {"bandwidth", check_bandwidth},
    {"power_limit", check_power_limit},
    {"size_16_bit", check_size_16_bit},
    {"slower", check_slower},
    {"swapped_kernel", check_stand_ins},
    {"emulated", check_emulated},
    {"slow_precision", check_slow_precision},
    {"perplexity_range", check_perplexity},
    {"nothing_changed", check_same_figures},
    {"accuracy_noise", check_accuracy_noise},
    {"speedup_above_peaks", check_speedup_peaks},
    {"idle_device_energy", check_idle_device},
    {"size", check_size_dtype},
    {"throughput", check_throughput},
};

constexpr TableRule only_of_tables[] = {
    {"placeholder", Severity::medium, "a duration, rate, energy or power of exactly 0",
     "A figure of 0 where something was to be measured.", "Leave the cell empty, and say why.", check_placeholders},
    {"std_above_mean", Severity::medium, "a duration and its standard deviation",
     "A duration's standard deviation exceeds its mean.",
     "Warm up, look at the raw samples, and give median and quantiles.", check_spread},
    {"derived_by_subtraction", Severity::medium, "standard deviations of forward, backward and total",
     "The backward pass's deviation is the root of the squares of the other two: it was subtracted, not timed.",
     "Time the backward pass by itself, with a synchronisation before and after.", check_subtraction},
    {"parts_and_total", Severity::medium, "forward, backward and total durations",
     "The parts add up to more than the total, by more than 5 %.", "Time all of them in the same runs.", check_parts},
    {"launch_bound", Severity::medium, "durations of three models or more, their layers and parameters",
     "Times follow the number of layers, or nothing, where the work grows.",
     "Use larger batches, CUDA graphs or compilation before comparing precisions.", check_launch_bound},
    {"energy_and_power", Severity::medium, "energy, power and latency of a row",
     "Energy is not power times latency, within 10 %, for one item or the batch.",
     "Integrate power over the very windows that were timed.", check_energy_and_power},
    {"ratio_mismatch", Severity::high, "a claimed ratio and the two figures behind it",
     "A claimed speed-up, saving or reduction is not what the figures give, beyond their rounding.",
     "Compute ratios from the figures that are printed.", check_ratios},
    {"claim_mismatch", Severity::high, "a sentence that holds a ratio and both its figures",
     "'30x more' in the text beside a table, where its own two figures give another ratio.",
     "Compute ratios from the figures that are printed.", check_claims},
    {"size_parameters", Severity::medium, "model size, precision, number of parameters",
     "A size below what the parameters take in that precision, or above 4.5 bytes each.",
     "Count bytes as stored, and say what the file holds besides weights.", check_size_parameters},
    {"accuracy_range", Severity::medium, "accuracy; model, data set and rows where known",
     "An accuracy that is no share, or outside of what the model reaches on the data.",
     "Check labels, tokenisation and which rows were scored.", check_accuracy_range},
    {"near_peak", Severity::medium, "durations, model, shape and device; fp32",
     "A whole model at 85 % or more of the device's fp32 peak: TF32 may have been on.",
     "Switch TF32 off, or call the row tf32.", check_near_peak},
    {"within_spread", Severity::low, "two durations and their standard deviations",
     "Two precisions differ by less than their spread.", "Give the number of runs and an interval.",
     check_within_spread},
    {"no_spread", Severity::info, "columns of the table", "Neither a spread nor a number of runs is given.",
     "Give a spread, and how many runs it is of.", check_no_spread},
};

std::vector<TableRule> all_table_rules() {
  std::vector<TableRule> all;
  for (const Rule& rule : rules()) {
    const auto shared = std::find_if(std::begin(shared_rules), std::end(shared_rules),
                                     [&](const SharedRule& one) { return one.id == rule.id; });
    if (shared == std::end(shared_rules)) continue;
    all.push_back({rule.id, rule.severity, rule.evidence, rule.states, rule.remedy, shared->check});
  }
  all.insert(all.end(), std::begin(only_of_tables), std::end(only_of_tables));
  return all;
}

}  // namespace

std::span<const TableRule> table_rules() {
  static const std::vector<TableRule> all = all_table_rules();
  return all;
}

}  // namespace assay
