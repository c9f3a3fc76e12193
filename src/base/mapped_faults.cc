#include "base/mapped_faults.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

#include "base/error.h"
#include "base/printable.h"

namespace assay {

// What the handler reads must never be freed under it: entries stay in the list for good and are used again. An entry
// is filled before `begin` is set, so that the handler sees it whole.
struct WatchedMapping {
  std::atomic<std::uintptr_t> begin = 0;  ///< 0: free.
  std::size_t size = 0;
  std::string line;  ///< What is said; nothing can be put together in the handler.
  WatchedMapping* next = nullptr;
};

namespace {

static_assert(std::atomic<std::uintptr_t>::is_always_lock_free && std::atomic<WatchedMapping*>::is_always_lock_free);

std::atomic<WatchedMapping*> first_mapping = nullptr;
std::mutex filling;
std::atomic_flag told;

const WatchedMapping* mapping_at(std::uintptr_t address) {
  for (const WatchedMapping* entry = first_mapping.load(); entry != nullptr; entry = entry->next) {
    const std::uintptr_t begin = entry->begin.load();
    if (begin != 0 && address >= begin && address - begin < entry->size) return entry;
  }
  return nullptr;
}

/// Of a fault that is none of these, the default action follows as soon as the instruction runs again.
void end_with_a_line(int signal, siginfo_t* fault, void*) {
  const WatchedMapping* mapping = mapping_at(reinterpret_cast<std::uintptr_t>(fault->si_addr));
  if (mapping == nullptr) {
    ::signal(signal, SIG_DFL);
    if (fault->si_code <= 0) ::raise(signal);  // Somebody sent it: no instruction would bring it again.
    return;
  }
  while (told.test_and_set()) ::pause();  // Another thread met it, too: the line is one.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, mapping->line.data(), mapping->line.size());
  ::_exit(static_cast<int>(ExitCode::user));
}

/// An alternative stack is not needed: the fault is not one of the stack.
void catch_faults() {
  struct sigaction action {};
  action.sa_sigaction = end_with_a_line;
  action.sa_flags = SA_SIGINFO;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(SIGBUS, &action, nullptr);
}

WatchedMapping* free_entry() {
  for (WatchedMapping* entry = first_mapping.load(); entry != nullptr; entry = entry->next) {
    if (entry->begin.load() == 0) return entry;
  }
  auto* entry = new WatchedMapping;
  entry->next = first_mapping.load();
  first_mapping.store(entry);
  return entry;
}

}  // namespace

MappingWatch watch_mapping(const void* address, std::size_t size, const std::filesystem::path& path) {
  constexpr std::size_t longest = 1000;
  const std::lock_guard guard(filling);
  static const bool caught = [] { return catch_faults(), true; }();
  ASSAY_ASSERT(caught && size > 0);
  WatchedMapping* entry = free_entry();
  entry->line = fmt::format("assay: {}: was truncated while it was read, or its disk failed\n",
                            printable(path.string(), longest));
  entry->size = size;
  entry->begin.store(reinterpret_cast<std::uintptr_t>(address));
  return MappingWatch(entry);
}

void forget_mapping(WatchedMapping* mapping) {
  mapping->begin.store(0);
}

}  // namespace assay
