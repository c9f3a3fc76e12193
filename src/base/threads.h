#pragma once

#include <omp.h>

#include <cstdint>

#include "base/team.h"

namespace assay {

/// Sets the number of OpenMP threads that parallel_for and the kernels use from this thread on. Throws Error(lacking)
/// where the system refuses so many.
void set_threads(int threads);

/// body(thread, threads) on each of them: on the calling thread alone where one suffices, by the team that it leads, or
/// in a parallel region. body must not throw.
template <typename Body>
void on_threads(int threads, const Body& body) {
  if (threads <= 1) return body(0, 1);
  if (Team* const team = Team::mine()) {
    const int count = threads < team->size() ? threads : team->size();
    return team->run(count, [&](int thread) { body(thread, count); });
  }
#pragma omp parallel num_threads(threads)
  body(omp_get_thread_num(), omp_get_num_threads());
}

/// Runs body(begin, end) on contiguous parts of [0, count), one part a thread. `grain` is the smallest part worth a
/// thread. body must not throw. Inside a parallel region it runs on the calling thread alone.
template <typename Body>
void parallel_for(std::int64_t count, std::int64_t grain, Body&& body) {
  const std::int64_t most = grain > 0 ? (count + grain - 1) / grain : count;
  const std::int64_t threads = most < omp_get_max_threads() ? most : omp_get_max_threads();
  if (threads <= 1 || (omp_in_parallel() && Team::mine() == nullptr)) {
    if (count > 0) body(std::int64_t{0}, count);
    return;
  }
  on_threads(static_cast<int>(threads), [&](std::int64_t part, std::int64_t parts) {
    const std::int64_t begin = count * part / parts;
    const std::int64_t end = count * (part + 1) / parts;
    if (begin < end) body(begin, end);
  });
}

}  // namespace assay
