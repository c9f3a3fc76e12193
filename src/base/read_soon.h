#pragma once

#include <cstddef>
#include <cstdint>

namespace assay {

/// Memory that threads will read once, each a part of its own front to back: of `units` pieces of `unit_bytes`, thread
/// t of n those from units * t / n on.
struct ReadSoon {
  const std::byte* data = nullptr;
  std::int64_t unit_bytes = 0;
  std::int64_t units = 0;
  int threads = 1;
};

/// From now on threads of the caller's team (base/team.h) that wait for others fetch what they will read soon into
/// their second cache: memory would stand still meanwhile. `soon` stays where it is and as it is until the next call,
/// or the end of the team. Nothing happens where the caller leads no team.
void fetch_while_waiting(const ReadSoon& soon);

}  // namespace assay
