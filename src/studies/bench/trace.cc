#include "studies/bench/trace.h"

#include <algorithm>
#include <vector>

#include "base/clock.h"
#include "runtime/trace.h"

namespace assay {

std::vector<double> trace_operations(Plan& plan, double most_s) {
  constexpr std::size_t most_runs = 3;
  std::vector<std::vector<StepTime>> runs;
  const double begin_s = now_s();
  while (runs.size() < most_runs && (runs.empty() || now_s() - begin_s < most_s)) {
    run_traced(plan, runs.emplace_back(plan.steps().size()));
  }
  std::vector<double> operation_ms;
  for (std::size_t step = 0; step < plan.steps().size(); ++step) {
    std::vector<double> times;
    for (const auto& run : runs) times.push_back(run[step].ms());
    std::sort(times.begin(), times.end());
    operation_ms.push_back(times[(times.size() - 1) / 2]);
  }
  return operation_ms;
}

}  // namespace assay
