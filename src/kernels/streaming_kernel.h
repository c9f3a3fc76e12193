#pragma once

#include "base/read_soon.h"
#include "kernels/kernel.h"

namespace assay {

/// A kernel that reads a weight once, at memory's rate, and next to nothing else: a product of few rows.
class StreamingKernel : public Kernel {
 public:
  /// What a run with that memory reads.
  virtual ReadSoon reads(const Memory& memory) const = 0;
  /// What the next such kernel of the plan reads: threads that are done here fetch it while they wait.
  void followed_by(const ReadSoon& next) { next_ = next; }

 protected:
  /// At the beginning of a run.
  void announce_next() const {
    if (next_.data != nullptr) fetch_while_waiting(next_);
  }
  /// Asks for the first lines of a thread's part, so that they are on their way while it makes its input ready.
  static void ask_for_part(const ReadSoon& read, int thread) {
    constexpr std::int64_t line_bytes = 64;
    constexpr std::int64_t lines = 32;
    const std::byte* const part = read.data + read.units * thread / read.threads * read.unit_bytes;
    for (std::int64_t line = 0; line < lines; ++line) __builtin_prefetch(part + line * line_bytes);
  }

 private:
  ReadSoon next_;
};

}  // namespace assay
