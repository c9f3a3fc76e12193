#include "studies/bench_trace.h"

#include <algorithm>
#include <vector>

#include "base/clock.h"
#include "runtime/trace.h"

namespace assay {

void trace_operations(Plan& plan, double most_s, Record& record) {
  constexpr std::size_t most_runs = 3;
  if (record.ledger.size() != plan.steps().size()) return;
  record.operation_ms.clear();
  std::vector<std::vector<StepTime>> runs;
  const double begin_s = now_s();
  while (runs.size() < most_runs && (runs.empty() || now_s() - begin_s < most_s)) {
    run_traced(plan, runs.emplace_back(plan.steps().size()));
  }
  for (std::size_t step = 0; step < record.ledger.size(); ++step) {
    std::vector<double> times;
    for (const auto& run : runs) times.push_back(run[step].ms());
    std::sort(times.begin(), times.end());
    record.operation_ms.push_back(times[(times.size() - 1) / 2]);
  }
}

}  // namespace assay
