#include "base/processor_set.h"

#include <charconv>
#include <filesystem>
#include <string>
#include <vector>

namespace assay {
namespace {

/// Of this process.
std::vector<pid_t> threads_now() {
  std::vector<pid_t> threads;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task", ignored)) {
    const std::string name = entry.path().filename();
    pid_t thread = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), thread).ec == std::errc()) threads.push_back(thread);
  }
  return threads;
}

ProcessorSet processors_of(pid_t thread) {
  ProcessorSet set;
  if (::sched_getaffinity(thread, sizeof set.processors, &set.processors) != 0) return {};
  return set;
}

void move_to(pid_t thread, const ProcessorSet& set) {
  if (set.count() > 0) ::sched_setaffinity(thread, sizeof set.processors, &set.processors);
}

}  // namespace

ProcessorSet own_processors() {
  return processors_of(0);
}

OnProcessors::OnProcessors(const ProcessorSet& set) : own_(own_processors()) {
  if (own_ == set) return;
  for (const pid_t thread : threads_now()) {
    before_[thread] = processors_of(thread);
    move_to(thread, set);
  }
}

OnProcessors::~OnProcessors() {
  if (before_.empty()) return;
  for (const pid_t thread : threads_now()) {
    const auto known = before_.find(thread);
    move_to(thread, known == before_.end() ? own_ : known->second);
  }
}

}  // namespace assay
