#include "hardware/concurrent_rate.h"

#include <omp.h>

#include <algorithm>
#include <vector>

#include "base/clock.h"

namespace assay {
namespace {

// So many windows even past the budget, unless somebody else has the cores for most of the time.
constexpr std::size_t wanted_windows = 16;
constexpr std::size_t least_windows = 3;
constexpr double most_budgets = 3;

double upper_quartile(std::vector<double>& rates) {
  const auto at = rates.begin() + static_cast<std::ptrdiff_t>(rates.size() * 3 / 4);
  std::nth_element(rates.begin(), at, rates.end());
  return *at;
}

double thread_rate(int thread, double budget_s, const Window& window) {
  std::vector<double> rates;
  double begin_s = now_s();
  const double stop_s = begin_s + budget_s;
  const double last_s = begin_s + most_budgets * budget_s;
  while (begin_s < stop_s || rates.size() < least_windows || (rates.size() < wanted_windows && begin_s < last_s)) {
    const double work = window(thread);
    const double end_s = now_s();
    rates.push_back(work / (end_s - begin_s));
    begin_s = end_s;
  }
  return upper_quartile(rates);
}

}  // namespace

double concurrent_rate(int threads, double budget_s, const Window& window) {
  double rate = 0;
#pragma omp parallel num_threads(threads) reduction(+ : rate)
  {
    window(omp_get_thread_num());  // Wakes this thread's core and its vector units.
#pragma omp barrier
    rate = thread_rate(omp_get_thread_num(), budget_s, window);
  }
  return rate;
}

}  // namespace assay
