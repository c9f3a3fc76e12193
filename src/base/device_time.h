#pragma once

#include <optional>

namespace assay {

/// What queued work took by the device's own clock, the host's part apart.
struct DeviceTime {
  double device_s = 0;  ///< From the start of the first work to the end of the last, all of it queued beforehand.
  /// What queueing it took the host; absent where the queue was full meanwhile, and device_s holds waits for the host.
  std::optional<double> enqueue_s;
};

}  // namespace assay
