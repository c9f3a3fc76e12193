#pragma once

#include <sys/time.h>

#include <chrono>

namespace assay {

/// Seconds on the monotonic clock; only differences mean anything.
inline double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// A time as getrusage(2) gives it.
inline double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

}  // namespace assay
