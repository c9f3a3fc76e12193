#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <vector>

#include "results/derive.h"
#include "rules/recorded_cells_test.h"

namespace assay {
namespace {

/// A fault at several sizes, from one that any honest run may have to one that nobody overlooks.
struct SizedFault {
  const char* rule;
  const char* story;
  std::vector<double> sizes;
  std::function<void(std::vector<Record>&, double)> plant;
};

void step_in_the_middle(Record& record, double factor) {
  record.latency.made().raw_ms.assign(40, *record.latency->median_ms);
  for (std::size_t i = 20; i < 40; ++i) record.latency.made().raw_ms[i] *= factor;
}

const SizedFault sized_faults[] = {
    {"instruction_peak", "times divided by", {1.2, 2, 5, 20, 1000}, [](auto& c, double by) { hasten(c.back(), by); }},
    {"throughput",
     "wall time over the runs' time",
     {1.02, 1.04, 1.06, 1.2, 2},
     [](auto& c, double by) {
       c.back().latency.made().timed_s =
           by * static_cast<double>(c.back().latency->timed_runs.value_or(1)) * *c.back().latency->median_ms * 1e-3;
       c.back().rates = rates_of(c.back());
     }},
    {"size",
     "int8's size over fp32's",
     {0.29, 0.31, 0.5, 0.75},
     [](auto& c, double share) {
       c.back().memory.made().model_bytes =
           static_cast<std::int64_t>(share * static_cast<double>(*c.front().memory->model_bytes));
     }},
    {"drift",
     "second half over first",
     {1.02, 1.05, 1.1, 1.2},
     [](auto& c, double by) { step_in_the_middle(c.back(), by); }},
    {"very_busy",
     "share of the cores that others take",
     {0.02, 0.05, 0.1, 0.15, 0.25},
     [](auto& c, double share) { c.back().circumstances.made().foreign_load = share; }},
    {"warm_up_short",
     "first tenth over the rest",
     {1.1, 1.2, 1.3, 4},
     [](auto& c, double by) {
       c.back().latency.made().raw_ms.assign(30, *c.back().latency->median_ms);
       for (std::size_t i = 0; i < 3; ++i) c.back().latency.made().raw_ms[i] *= by;
     }},
    {"speedup_above_peaks",
     "speed-up over the ratio of the matmul peaks",
     {1.1, 1.5, 4, 40},
     [](auto& c, double by) {
       c.back().evidence.peaks_measured_share = 1;
       c.back().speedup.made().speedup_low = c.back().speedup.made().speedup =
           by * *c.back().evidence.matmul_peak_gflops / *c.back().evidence.baseline_matmul_peak_gflops;
     }},
};

int caught_at(const SizedFault& fault, double size, const std::vector<std::vector<Record>>& honest) {
  int caught = 0;
  for (std::vector<Record> cell : honest) {
    quieten(cell);
    fault.plant(cell, size);
    caught += rules_that_speak(cell).contains(fault.rule) ? 1 : 0;
  }
  return caught;
}

TEST(Lies, OfAllSizesAreCaughtTheMoreTheLargerTheyAre) {
  const auto honest = recorded_cells();
  fmt::print("rule | fault | size | runs | caught | missed\n");
  for (const SizedFault& fault : sized_faults) {
    int before = 0;
    for (const double size : fault.sizes) {
      const int caught = caught_at(fault, size, honest);
      fmt::print("{} | {} | {} | {} | {} | {}\n", fault.rule, fault.story, size, honest.size(), caught,
                 std::ssize(honest) - caught);
      EXPECT_GE(caught, before) << fault.rule << " at " << size;
      before = caught;
    }
    EXPECT_EQ(before, std::ssize(honest)) << fault.rule;
  }
}

TEST(HonestRuns, RaiseNothingHigh) {
  int runs = 0;
  std::map<std::string, int> spoken;
  for (std::vector<Record> document : recorded_runs()) {
    runs += static_cast<int>(document.size());
    for (const Finding& finding : judge_in_full(document).findings) {
      EXPECT_NE(finding.severity, Severity::high) << finding.rule << ": " << finding.text;
      if (finding.met != true) ++spoken[fmt::format("{} ({})", finding.rule, name(finding.severity))];
    }
  }
  EXPECT_GE(runs, 200);
  fmt::print("{} honest runs, 0 with a finding of high severity\nrule | times\n", runs);
  for (const auto& [rule, times] : spoken) fmt::print("{} | {}\n", rule, times);
}

}  // namespace
}  // namespace assay
