#pragma once

#include <functional>

namespace assay {

/// Work that a window did; called with the number of the thread (0 to threads - 1).
using Window = std::function<double(int)>;

/// Work a second of `threads` threads that run at the same time, each its own windows of about 1 ms for `budget_s`.
///
/// The sum over threads of the upper quartile of the rates of their windows. A thread that loses its core to somebody
/// else spoils one window and not the sum: a scheduler's time slice is several windows long. The quartile and not the
/// best, because a window in which the sibling on the same core was idle is faster than two can be together.
double concurrent_rate(int threads, double budget_s, const Window& window);

}  // namespace assay
