#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <vector>

#include "results/derive.h"
#include "rules/recorded_cells_test.h"

namespace assay {
namespace {

/// One way to be wrong: what it does to a row of a sound cell (1: bf16, 3: int8 and so on), and the rule that sees it.
struct Lie {
  const char* rule;
  const char* story;
  std::function<void(std::vector<Record>&)> plant;
};

/// The last row of a cell is the one that lies; the first is fp32.
const Lie lies[] = {
    {"negative_duration", "a phase got by subtraction", [](auto& c) { c.back().latency.made().raw_ms.front() = -2.7; }},
    {"instruction_peak", "a skipped synchronisation: the clock stops before the device",
     [](auto& c) { hasten(c.back(), 1000); }},
    {"instruction_peak", "cached results: nothing is computed after the first run",
     [](auto& c) { hasten(c.front(), 1e5); }},
    {"bandwidth", "weights that are read from nowhere",
     [](auto& c) {
       c.back().evidence.instruction_ms.reset();
       c.back().evidence.weight_bytes_read =
           1e3 * *c.back().evidence.bandwidth_bytes_per_s * *c.back().latency->median_ms * 1e-3;
     }},
    {"power_limit", "joules of two devices counted as one",
     [](auto& c) {
       c.back().energy.made().power_w = 300;
       c.back().energy.made().power_limit_w = 250;
     }},
    {"phase_peak", "a forward whose clock stops early",
     [](auto& c) {
       c.back().training.made().forward_ms = 1;
       c.back().evidence.forward_instruction_ms = 5;
     }},
    {"phase_sum", "phases that leave a part of the step out",
     [](auto& c) {
       c.back().training.made().mean_forward_ms = 10;
       c.back().training.made().mean_backward_ms = 20;
       c.back().training.made().mean_step_ms = 40;
     }},
    {"update_bandwidth", "an update that touches half of the parameters",
     [](auto& c) {
       c.back().training.made().optimizer_ms = 1;
       c.back().evidence.optimizer_bytes_read =
           *c.back().evidence.cache_bytes + 2e-3 * *c.back().evidence.bandwidth_bytes_per_s;
     }},
    {"suspect_rate", "a peak that was measured on a throttled machine",
     [](auto& c) {
       c.back().evidence.peaks_measured_share = 1;
       c.back().evidence.matmul_ms = 1.3 * *c.back().latency->median_ms;
       c.back().evidence.instruction_ms = 0.9 * *c.back().latency->median_ms;
     }},
    {"no_interval", "three samples", [](auto& c) { c.back().latency.made().ci_low_ms.reset(); }},
    {"no_figure", "samples of two minds",
     [](auto& c) {
       c.back().latency.made().ci_low_ms = 0.9 * *c.back().latency->median_ms;
       c.back().latency.made().ci_high_ms = 4 * *c.back().latency->median_ms;
     }},
    {"very_busy", "a spinning neighbour on one core of four",
     [](auto& c) { c.back().circumstances.made().foreign_load = 0.25; }},
    {"overrun", "a spinning neighbour on most cores",
     [](auto& c) { c.back().circumstances.made().foreign_load = 0.7; }},
    {"much_stolen", "a hypervisor that gives the cores away",
     [](auto& c) { c.back().circumstances.made().stolen_share = 0.1; }},
    {"disk", "weights paged in within the windows",
     [](auto& c) { c.back().circumstances.made().major_page_faults = 400; }},
    {"drift", "a machine that heats up",
     [](auto& c) {
       auto& raw = c.back().latency.made().raw_ms;
       raw.assign(40, *c.back().latency->median_ms);
       for (std::size_t i = 20; i < 40; ++i) raw[i] *= 1.2;
     }},
    {"spread", "a thread that sleeps in every fifth run",
     [](auto& c) { c.back().latency.made().p90_ms = 3 * *c.back().latency->median_ms; }},
    {"emulated", "bf16 by hand, in f32",
     [](auto& c) {
       std::for_each(c.back().evidence.ledger.begin(), c.back().evidence.ledger.end(),
                     [](LedgerRow& row) { row.verdict = Verdict::emulated; });
     }},
    {"swapped_kernel", "an f32 kernel under a narrow name",
     [](auto& c) {
       for (LedgerRow& row : c.back().evidence.ledger) {
         row.operand = c.back().setting.precision == "fp16" ? DType::bf16 : DType::f16;
         row.verdict = Verdict::native;
       }
     }},
    {"other_operands", "a widened product",
     [](auto& c) {
       for (LedgerRow& row : c.back().evidence.ledger) {
         row.operand = DType::f32;
         row.verdict = Verdict::widened;
       }
     }},
    {"slow_precision", "an instruction at half the rate",
     [](auto& c) {
       for (LedgerRow& row : c.back().evidence.ledger) row.verdict = Verdict::slow;
     }},
    {"warm_up_short", "sampling that began with the first call",
     [](auto& c) {
       c.back().latency.made().raw_ms.assign(30, *c.back().latency->median_ms);
       for (std::size_t i = 0; i < 3; ++i) c.back().latency.made().raw_ms[i] *= 4;
     }},
    {"throttled", "a clock that falls by a third",
     [](auto& c) {
       c.back().circumstances.made().frequency_before_mhz = 3000;
       c.back().circumstances.made().frequency_after_mhz = 2000;
       c.back().latency.made().raw_ms.assign(30, *c.back().latency->median_ms);
       for (std::size_t i = 15; i < 30; ++i) c.back().latency.made().raw_ms[i] *= 1.5;
     }},
    {"coarse_clock", "a clock of 10 ms steps",
     [](auto& c) {
       c.back().latency.made().raw_ms.assign(20, 10.0);
       c.back().latency.made().raw_ms[4] = c.back().latency.made().raw_ms[11] = 20.0;
       c.back().latency.made().median_ms = 10.0;
       c.back().evidence.instruction_ms = c.back().evidence.matmul_ms = 0.1;
       c.back().evidence.weight_bytes_read = 0;
     }},
    {"perplexity_range", "padding scored as text",
     [](auto& c) {
       for (Record& r : c) {
         r.setting.model = "gpt2";
         r.setting.weights = "sha256:1";
         r.quality.made().protocol = "window 128";
         r.quality.made().perplexity = 217;
       }
     }},
    {"scored_padding", "labels equal to input ids, padding too",
     [](auto& c) {
       c.back().quality.made().protocol = "padded-lines 128";
       c.back().quality.made().scored_windows = 64;
       c.back().quality.made().scored = 64 * 127;
     }},
    {"nothing_changed", "a cast that was forgotten",
     [](auto& c) {
       c.front().quality.made().logits_hash = c.back().quality.made().logits_hash = "same";
       c.back().speedup.made().speedup = 1.01;
     }},
    {"distinct_logits", "two names for one run",
     [](auto& c) {
       c.front().quality.made().logits_hash = c.back().quality.made().logits_hash = "same";
       for (LedgerRow& row : c.back().evidence.ledger) row.accumulator = DType::f64;
     }},
    {"speedup_above_peaks", "a baseline that was held up",
     [](auto& c) {
       c.back().evidence.peaks_measured_share = 1;
       c.back().speedup.made().speedup_low = c.back().speedup.made().speedup =
           40 * *c.back().evidence.matmul_peak_gflops / *c.back().evidence.baseline_matmul_peak_gflops;
     }},
    {"stuck_counter", "an energy counter that stands still",
     [](auto& c) {
       c.back().energy.made().energy_j = 0;
       c.back().energy.made().idle_power_w = 5;
     }},
    {"idle_device_energy", "the GPU's meter read while the CPU worked",
     [](auto& c) {
       c.back().energy.made().energy_j = 1.411;
       c.back().energy.made().power_w = 29.4;
       c.back().energy.made().idle_power_w = 29.3;
     }},
    {"short_energy_window", "a window of two updates",
     [](auto& c) {
       c.back().energy.made().energy_j = 1;
       c.back().energy.made().idle_power_w = 1;
       c.back().energy.made().energy_short_share = 1;
     }},
    {"no_idle_baseline", "energy without idle power", [](auto& c) { c.back().energy.made().energy_j = 1; }},
    {"idle_drift", "an idle power taken under load",
     [](auto& c) {
       c.front().energy.made().idle_power_w = 10;
       c.back().energy.made().idle_power_w = 30;
     }},
    {"busy_energy", "an idle power taken beside a neighbour",
     [](auto& c) {
       c.back().energy.made().energy_j = 1;
       c.back().energy.made().idle_busy_processors = 1;
     }},
    {"energy_time", "energy windows beside a neighbour",
     [](auto& c) {
       c.back().energy.made().power_w = 30;
       c.back().energy.made().energy_j = 30 * 1.5e-3 *
                                         std::max(*c.back().latency->median_ms, *c.back().latency->mean_ms) /
                                         static_cast<double>(c.back().setting.batch);
     }},
    {"left_behind", "a program that leaves a daemon in each run",
     [](auto& c) { c.back().program_run.made().daemons_left = c.back().program_run.made().daemons_alive = 13; }},
    {"left_running", "samples that share the processors with them",
     [](auto& c) { c.back().program_run.made().daemons_left = 13; }},
    {"broken_seal", "a file that was edited", [](auto& c) { c.back().seal.state = Seal::State::broken; }},
    {"changed_figures", "a median that was halved by hand",
     [](auto& c) {
       *c.back().latency.made().median_ms /= 2;
       c = derived_again(std::move(c));
     }},
    {"part_scored", "a perplexity of what an interrupt left",
     [](auto& c) { c.back().quality.made().quality_status = interrupted_after({154'240, 197'913}); }},
    {"figures_without_samples", "samples that were cut out", [](auto& c) { c.back().latency.made().raw_ms.clear(); }},
    {"size", "int8 in name only",
     [](auto& c) { c.back().memory.made().model_bytes = *c.front().memory->model_bytes * 3 / 4; }},
    {"throughput", "pauses between the runs",
     [](auto& c) {
       c.back().latency.made().timed_s =
           2.0 * static_cast<double>(c.back().latency->timed_runs.value_or(1)) * *c.back().latency->median_ms * 1e-3;
       c.back().rates = rates_of(c.back());
     }},
};

struct Caught {
  int planted = 0;
  int caught = 0;
};

std::map<std::string, Caught> confusion() {
  std::map<std::string, Caught> table;
  for (std::vector<Record> honest : recorded_cells()) {
    quieten(honest);
    for (const Lie& lie : lies) {
      std::vector<Record> cell = honest;
      lie.plant(cell);
      Caught& row = table[fmt::format("{}: {}", lie.rule, lie.story)];
      ++row.planted;
      row.caught += rules_that_speak(cell).contains(lie.rule) ? 1 : 0;
    }
  }
  return table;
}

TEST(Lies, BeyondTheThresholdsAreCaughtInEveryRecordedRun) {
  const auto table = confusion();
  ASSERT_GE(table.size(), std::size(lies));
  fmt::print("planted fault | runs | caught\n");
  for (const auto& [lie, row] : table) {
    fmt::print("{} | {} | {}\n", lie, row.planted, row.caught);
    EXPECT_GE(row.planted, 20) << lie;
    EXPECT_EQ(row.caught, row.planted) << lie;
  }
}

TEST(Lies, SuiteCoversEveryRuleThatCanBeHigh) {
  std::set<std::string> covered;
  for (const Lie& lie : lies) covered.insert(lie.rule);
  covered.insert("size_16_bit");    // Told by Gate.ASixteenBitModelIsNotLargerThanFp32.
  covered.insert("judged_before");  // Told by Gate.WhatWasImpossibleStaysSoWithoutItsEvidence.
  for (const Rule& rule : rules()) {
    if (rule.severity == Severity::high) {
      EXPECT_TRUE(covered.contains(rule.id)) << rule.id;
    }
  }
}

}  // namespace
}  // namespace assay
