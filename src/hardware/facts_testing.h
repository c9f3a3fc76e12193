#pragma once

// For tests only.

#include "hardware/machine.h"

namespace assay {

/// This machine, nothing measured, and kernels on two threads.
inline MachineFacts two_thread_facts() {
  return read_machine_facts({.max_isa = "", .threads = 2});
}

/// This machine, nothing measured.
inline MachineFacts facts_without_peaks() {
  return read_machine_facts();
}

}  // namespace assay
