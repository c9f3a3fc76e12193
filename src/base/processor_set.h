#pragma once

#include <sched.h>

#include <map>

namespace assay {

/// Processors that threads may run on. Trivially copyable, so that processes can tell each other theirs.
struct ProcessorSet {
  cpu_set_t processors{};

  int count() const { return CPU_COUNT(&processors); }
  ProcessorSet& operator|=(const ProcessorSet& other) {
    CPU_OR(&processors, &processors, &other.processors);
    return *this;
  }
  bool operator==(const ProcessorSet& other) const { return CPU_EQUAL(&processors, &other.processors) != 0; }
};

/// Those of the calling thread; empty where the system does not say it (more processors than a cpu_set_t has).
ProcessorSet own_processors();

/// While it lives, all threads of this process may run on `set`; then each where it might before, and those that were
/// made meanwhile where the calling thread might. What the system refuses is left as it is: a cgroup may allow less.
class OnProcessors {
 public:
  explicit OnProcessors(const ProcessorSet& set);
  ~OnProcessors();
  OnProcessors(const OnProcessors&) = delete;
  OnProcessors& operator=(const OnProcessors&) = delete;

 private:
  ProcessorSet own_;
  std::map<pid_t, ProcessorSet> before_;
};

}  // namespace assay
