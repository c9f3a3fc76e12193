#include "cli/interrupt.h"

#include <csignal>

namespace assay {
namespace {

std::atomic<bool> interrupted = false;

void interrupt(int) {
  interrupted = true;
  std::signal(SIGINT, SIG_DFL);
}

}  // namespace

const std::atomic<bool>& watch_interrupts() {
  std::signal(SIGINT, interrupt);
  return interrupted;
}

}  // namespace assay
