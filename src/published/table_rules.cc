#include "published/table_rules.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <vector>

#include "base/error.h"
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
    {.id = "placeholder",
     .severity = Severity::medium,
     .evidence = "a duration, rate, energy or power of exactly 0",
     .states = "A figure of 0 where something was to be measured.",
     .remedy = "Leave the cell empty, and say why.",
     .check = check_placeholders},
    {.id = "std_above_mean",
     .severity = Severity::medium,
     .evidence = "a duration and its standard deviation",
     .states = "A duration's standard deviation exceeds its mean.",
     .remedy = "Warm up, look at the raw samples, and give median and quantiles.",
     .check = check_spread},
    {.id = "derived_by_subtraction",
     .severity = Severity::medium,
     .evidence = "standard deviations of forward, backward and total",
     .states =
         "The backward pass's deviation is the root of the squares of the other two: it was subtracted, not timed.",
     .remedy = "Time the backward pass by itself, with a synchronisation before and after.",
     .check = check_subtraction},
    {.id = "parts_and_total",
     .severity = Severity::medium,
     .evidence = "forward, backward and total durations",
     .states = "The parts add up to more than the total, by more than 5 %.",
     .remedy = "Time all of them in the same runs.",
     .check = check_parts},
    {.id = "launch_bound",
     .severity = Severity::medium,
     .evidence = "durations of three models or more, their layers and parameters",
     .states = "Times follow the number of layers, or nothing, where the work grows.",
     .remedy = "Use larger batches, CUDA graphs or compilation before comparing precisions.",
     .check = check_launch_bound},
    {.id = "energy_and_power",
     .severity = Severity::medium,
     .evidence = "energy, power and latency of a row",
     .states = "Energy is not power times latency, within 10 %, for one item or the batch.",
     .remedy = "Integrate power over the very windows that were timed.",
     .check = check_energy_and_power},
    {.id = "ratio_mismatch",
     .severity = Severity::high,
     .evidence = "a claimed ratio and the two figures behind it",
     .states = "A claimed speed-up, saving or reduction is not what the figures give, beyond their rounding.",
     .remedy = "Compute ratios from the figures that are printed.",
     .check = check_ratios},
    {.id = "claim_mismatch",
     .severity = Severity::high,
     .evidence = "a sentence that holds a ratio and both its figures",
     .states = "'30x more' in the text beside a table, where its own two figures give another ratio.",
     .remedy = "Compute ratios from the figures that are printed.",
     .check = check_claims},
    {.id = "size_parameters",
     .severity = Severity::medium,
     .evidence = "model size, precision, number of parameters",
     .states = "A size below what the parameters take in that precision, or above 4.5 bytes each.",
     .remedy = "Count bytes as stored, and say what the file holds besides weights.",
     .check = check_size_parameters},
    {.id = "accuracy_range",
     .severity = Severity::medium,
     .evidence = "accuracy; model, data set and rows where known",
     .states = "An accuracy that is no share, or outside of what the model reaches on the data.",
     .remedy = "Check labels, tokenisation and which rows were scored.",
     .check = check_accuracy_range},
    {.id = "near_peak",
     .severity = Severity::medium,
     .evidence = "durations, model, shape and device; fp32",
     .states = "A whole model at 85 % or more of the device's fp32 peak: TF32 may have been on.",
     .remedy = "Switch TF32 off, or call the row tf32.",
     .check = check_near_peak},
    {.id = "within_spread",
     .severity = Severity::low,
     .evidence = "two durations and their standard deviations",
     .states = "Two precisions differ by less than their spread.",
     .remedy = "Give the number of runs and an interval.",
     .check = check_within_spread},
    {.id = "no_spread",
     .severity = Severity::info,
     .evidence = "columns of the table",
     .states = "Neither a spread nor a number of runs is given.",
     .remedy = "Give a spread, and how many runs it is of.",
     .check = check_no_spread},
};

std::vector<TableRule> all_table_rules() {
  std::vector<TableRule> all;
  for (const Rule& rule : rules()) {
    const auto shared = std::find_if(std::begin(shared_rules), std::end(shared_rules),
                                     [&](const SharedRule& one) { return one.id == rule.id; });
    if (shared == std::end(shared_rules)) continue;
    all.push_back({rule.id, rule.severity, rule.evidence, rule.states, rule.remedy, shared->check});
  }
  ASSAY_ASSERT(all.size() == std::size(shared_rules));  // Each is a rule's.
  all.insert(all.end(), std::begin(only_of_tables), std::end(only_of_tables));
  return all;
}

}  // namespace

std::span<const TableRule> table_rules() {
  static const std::vector<TableRule> all = all_table_rules();
  return all;
}

}  // namespace assay
