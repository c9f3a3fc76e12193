#include "runtime/trace.h"

#include <algorithm>
#include <vector>

#include "base/clock.h"
#include "base/error.h"

namespace assay {

void run_traced(const Plan& plan, std::span<StepTime> times) {
  ASSAY_ASSERT(times.size() == plan.steps().size());
  for (std::size_t i = 0; i < times.size(); ++i) {
    const Step& step = plan.steps()[i];
    times[i].begin_s = now_s();
    step.kernel->run({step.inputs, step.outputs, step.workspace});
    plan.device().wait();
    times[i].end_s = now_s();
  }
}

double clock_cost_s() {
  constexpr int readings = 1000;
  constexpr int series = 21;
  std::vector<double> costs;
  for (int i = 0; i < series; ++i) {
    const double begin_s = now_s();
    double last_s = begin_s;
    for (int reading = 0; reading < readings; ++reading) last_s = now_s();
    costs.push_back((last_s - begin_s) / readings);
  }
  std::nth_element(costs.begin(), costs.begin() + series / 2, costs.end());
  return costs[series / 2];
}

}  // namespace assay
