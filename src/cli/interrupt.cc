#include "cli/interrupt.h"

#include <fmt/format.h>

#include <csignal>
#include <mutex>

#include "base/error.h"

namespace assay {
namespace {

std::atomic<bool> interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler sets it");

constexpr int watched[] = {SIGINT, SIGTERM, SIGHUP};

void interrupt(int) {
  interrupted = true;
  for (const int signal : watched) {
    struct sigaction now {};
    ::sigaction(signal, nullptr, &now);
    if (now.sa_handler == interrupt) std::signal(signal, SIG_DFL);
  }
}

/// A signal that was ignored when the program began (nohup, a shell's background job) stays so.
void watch(int signal) {
  struct sigaction before {};
  ::sigaction(signal, nullptr, &before);
  if (before.sa_handler != SIG_IGN) std::signal(signal, interrupt);
}

}  // namespace

const std::atomic<bool>& watch_interrupts() {
  static std::once_flag once;
  std::call_once(once, [] {
    for (const int signal : watched) watch(signal);
  });
  std::signal(SIGPIPE, SIG_IGN);  // A reader that goes away must cost neither files nor a training.
  return interrupted;
}

bool was_interrupted() {
  return interrupted;
}

void end_if_interrupted(const char* what) {
  if (was_interrupted()) throw Error(ExitCode::interrupted, fmt::format("{}: interrupted, nothing is told", what));
}

}  // namespace assay
