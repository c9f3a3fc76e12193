#pragma once

#include <atomic>
#include <cstdint>

namespace assay {

/// Threads of one OpenMP parallel region that stay together while a caller runs many short pieces of parallel work.
/// Handing one out costs a store and a load of a cache line (0.2 to 0.5 us), where a region of its own costs 0.6 to
/// 1.4 us: of the 150 that a token of a small language model needs, some 5 % of its time.
///
/// Waiting threads spin for about 0.1 ms and then sleep, as those of OpenMP do under `spin_briefly`; with
/// OMP_WAIT_POLICY=passive they sleep at once, as OpenMP's do.
class Team {
 public:
  /// Calls `work` on this thread with threads - 1 others waiting beside it; what it throws passes through. Work that
  /// opens parallel regions of its own (a library) would run on one thread in here.
  template <typename Work>
  static void gather(int threads, const Work& work) {
    gather_for({[](const void* of, int) { (*static_cast<const Work*>(of))(); }, &work}, threads);
  }

  /// The team that the calling thread may hand work to; null outside of `gather`, and within work that was handed out.
  static Team* mine();

  int size() const { return size_; }

  /// body(thread) on the first `threads` of the team; at most size(). body must not throw.
  template <typename Body>
  void run(int threads, const Body& body) {
    run_job({[](const void* of, int thread) { (*static_cast<const Body*>(of))(thread); }, &body}, threads);
  }

 private:
  struct Job {
    void (*call)(const void* body, int thread) = nullptr;
    const void* body = nullptr;
  };

  explicit Team(int size) : size_(size) {}
  static void gather_for(const Job& work, int threads);
  void run_job(const Job& job, int threads);
  void hand_out(const Job& job, int threads);
  void serve(int thread);

  int size_;
  Job job_;
  int job_threads_ = 0;                       ///< 0: there will be no more jobs.
  alignas(64) std::atomic<unsigned> jobs_{};  ///< So many were handed out.
  alignas(64) std::atomic<int> busy_{};       ///< Of the others, those that have not finished the last one.
};

/// Threads that reach it go on when all `threads` of them have. One lies with each piece of work whose threads wait for
/// one another.
class Barrier {
 public:
  void wait(int threads);

 private:
  std::atomic<int> arrived_ = 0;
  std::atomic<unsigned> rounds_ = 0;
};

}  // namespace assay
