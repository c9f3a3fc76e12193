#pragma once

#include <string>
#include <vector>

#include "base/processor_set.h"
#include "processes/group.h"

namespace assay {

/// The ranks that share this one's machine.
struct Neighbours {
  std::vector<int> ranks;      ///< In their order, this one among them.
  ProcessorSet processors;     ///< That any of them may use.
  int threads = 1;             ///< Of all of them together, at most one for each of these processors.
  int machines = 1;            ///< Of the whole group.
  bool reads = false;          ///< Whether this rank is the one that reads the machine's meter and counters.
  bool are_processes = false;  ///< Of their own, each with its own processor time.
};
/// Every rank calls it. `threads`: of this rank.
Neighbours find_neighbours(Group& group, int threads);

/// While it lives, this process computes with the threads and processors of all ranks of its machine.
class AllThreads {
 public:
  AllThreads(const Neighbours& neighbours, int own_threads);
  ~AllThreads();
  AllThreads(const AllThreads&) = delete;
  AllThreads& operator=(const AllThreads&) = delete;

 private:
  OnProcessors processors_;
  int own_threads_;
};

}  // namespace assay
