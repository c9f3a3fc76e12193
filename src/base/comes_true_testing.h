#pragma once

// For tests only.

#include <chrono>
#include <thread>

namespace assay {

/// Whether `condition` comes true, asked every few milliseconds: at once as a rule, after a while where others use the
/// cores. Where it never does, the wait ends after a minute.
template <typename Condition>
bool comes_true(Condition&& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

}  // namespace assay
