#include "cli/interrupt.h"

#include <csignal>

namespace assay {
namespace {

std::atomic<bool> interrupted = false;

constexpr int watched[] = {SIGINT, SIGTERM};

void interrupt(int) {
  interrupted = true;
  for (const int signal : watched) std::signal(signal, SIG_DFL);
}

}  // namespace

const std::atomic<bool>& watch_interrupts() {
  for (const int signal : watched) std::signal(signal, interrupt);
  return interrupted;
}

}  // namespace assay
