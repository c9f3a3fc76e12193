#pragma once

#include <chrono>

namespace assay {

/// Seconds on the monotonic clock; only differences mean anything.
inline double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace assay
