#include "base/team.h"

#include <omp.h>
#include <strings.h>

#include <cstdlib>
#include <exception>

namespace assay {
namespace {

thread_local Team* led = nullptr;  ///< By this thread.

/// About 0.1 ms: a pause takes 40 to 140 cycles. None where OpenMP's threads do not spin either.
int allowed_spins() {
  const char* policy = std::getenv("OMP_WAIT_POLICY");
  return policy != nullptr && strcasecmp(policy, "passive") == 0 ? 0 : 5000;
}

const int most_spins = allowed_spins();

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

/// Returns when the value is no longer `old`.
template <typename T>
void await_change(const std::atomic<T>& value, T old) {
  for (int spin = 0; spin < most_spins; ++spin) {
    if (value.load(std::memory_order_acquire) != old) return;
    pause();
  }
  value.wait(old, std::memory_order_acquire);
}

}  // namespace

Team* Team::mine() {
  return led;
}

void Team::gather_for(const Job& work, int threads) {
  if (threads <= 1 || led != nullptr || omp_in_parallel()) return work.call(work.body, 0);
  Team team(1);
  std::exception_ptr thrown;
#pragma omp parallel num_threads(threads)
  {
    if (omp_get_thread_num() != 0) {
      team.serve(omp_get_thread_num());
    } else {
      team.size_ = omp_get_num_threads();  // the system may give fewer
      led = &team;
      try {
        work.call(work.body, 0);
      } catch (...) {
        thrown = std::current_exception();
      }
      led = nullptr;
      team.hand_out({}, 0);
    }
  }
  if (thrown) std::rethrow_exception(thrown);
}

void Team::hand_out(const Job& job, int threads) {
  job_ = job;
  job_threads_ = threads;
  busy_.store(size_ - 1, std::memory_order_relaxed);
  jobs_.fetch_add(1, std::memory_order_release);
  jobs_.notify_all();
}

void Team::run_job(const Job& job, int threads) {
  led = nullptr;
  hand_out(job, threads);
  job.call(job.body, 0);
  for (int busy = busy_.load(std::memory_order_acquire); busy != 0; busy = busy_.load(std::memory_order_acquire))
    await_change(busy_, busy);
  led = this;
}

void Team::serve(int thread) {
  for (unsigned seen = 0;; ++seen) {
    await_change(jobs_, seen);
    if (job_threads_ == 0) return;
    if (thread < job_threads_) job_.call(job_.body, thread);
    if (busy_.fetch_sub(1, std::memory_order_release) == 1) busy_.notify_one();
  }
}

void Barrier::wait(int threads) {
  if (threads <= 1) return;
  const unsigned round = rounds_.load(std::memory_order_acquire);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 < threads) return await_change(rounds_, round);
  arrived_.store(0, std::memory_order_relaxed);
  rounds_.fetch_add(1, std::memory_order_release);
  rounds_.notify_all();
}

}  // namespace assay
