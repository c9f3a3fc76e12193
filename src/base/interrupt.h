#pragma once

#include <atomic>

namespace assay {

/// Set by a signal handler to end what goes on; null where nothing can.
using InterruptFlag = const std::atomic<bool>*;

inline bool is_set(InterruptFlag flag) {
  return flag != nullptr && flag->load();
}

}  // namespace assay
