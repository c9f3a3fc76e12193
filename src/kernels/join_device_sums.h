#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>

#include "tensor/device_sums.h"

namespace assay {

/// What tells ranks that meet from others: rank 0 makes one, and all others are handed it.
using MeetingId = std::array<std::byte, 128>;

/// Why this process cannot sum over ranks on its GPU: this build, a missing library. Empty: it can.
std::string device_sums_fault();
/// Throws Error(lacking).
MeetingId make_meeting_id();
/// Returns when all `size` ranks have called it, each in a process and on a GPU of its own. Throws Error(lacking).
std::unique_ptr<DeviceSums> join_device_sums(const MeetingId& id, int rank, int size);

}  // namespace assay
