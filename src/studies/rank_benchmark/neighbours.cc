#include "studies/rank_benchmark/neighbours.h"

#include <algorithm>
#include <set>

#include "base/threads.h"
#include "studies/shared/rank_place.h"

namespace assay {
namespace {

struct OfRank {
  ProcessorSet processors;
  int threads = 1;
};

}  // namespace

Neighbours find_neighbours(Group& group, int threads) {
  const std::vector<std::string> systems = all_gather(group, this_place().system);
  const std::vector<OfRank> all = all_gather_values(group, OfRank{own_processors(), threads});
  const std::string& mine = systems[static_cast<std::size_t>(group.rank())];
  Neighbours found;
  found.threads = 0;
  for (int rank = 0; rank < group.size(); ++rank) {
    const auto place = static_cast<std::size_t>(rank);
    if (systems[place] != mine) continue;
    found.ranks.push_back(rank);
    found.processors |= all[place].processors;
    found.threads += all[place].threads;
  }
  if (found.processors.count() > 0) found.threads = std::min(found.threads, found.processors.count());
  found.threads = std::max(found.threads, threads);
  found.machines = static_cast<int>(std::set(systems.begin(), systems.end()).size());
  found.reads = found.ranks.front() == group.rank();
  found.are_processes = !group.is_one_process();
  return found;
}

AllThreads::AllThreads(const Neighbours& neighbours, int own_threads)
    : processors_(neighbours.processors), own_threads_(own_threads) {
  set_threads(neighbours.threads);
}

AllThreads::~AllThreads() {
  set_threads(own_threads_);
}

}  // namespace assay
