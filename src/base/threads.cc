#include "base/threads.h"

#include <atomic>
#include <latch>
#include <system_error>
#include <thread>
#include <vector>

#include "base/error.h"

namespace assay {
namespace {

/// libgomp ends the program where the system refuses it a thread; whoever asks first can say so in words.
void try_threads(int threads) {
  std::latch all_tried(1);
  std::vector<std::thread> made;
  bool refused = false;
  try {
    while (static_cast<int>(made.size()) + 1 < threads) made.emplace_back([&] { all_tried.wait(); });
  } catch (const std::system_error&) {
    refused = true;
  }
  all_tried.count_down();
  for (std::thread& one : made) one.join();
  if (refused)
    fail_lacking("threads: the system refuses {}; see `ulimit -u` and `ulimit -v`, or ask for --threads 1", threads);
}

}  // namespace

void set_threads(int threads) {
  static std::atomic<int> tried = 1;
  if (threads > tried) {
    try_threads(threads);
    tried = threads;
  }
  omp_set_num_threads(threads);
}

}  // namespace assay
