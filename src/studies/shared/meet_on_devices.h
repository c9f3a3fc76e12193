#pragma once

#include <memory>
#include <span>
#include <string>

#include "kernels/join_device_sums.h"
#include "kernels/kernel.h"
#include "processes/group.h"
#include "training/reducer.h"

namespace assay {

/// How the ranks of a training sum gradients that lie on devices.
struct DeviceMeeting {
  std::unique_ptr<DeviceSums> sums = {};  ///< Null: they come to the host.
  std::string words = {};                 ///< Why, where the library was asked for; else empty.
};

/// A library of the backend's devices where --reduce-by asks for one and all ranks have it, each a device of its own,
/// and gradients travel in their own dtype; the same on every rank. Every rank calls it. Throws a SharedError where
/// they cannot meet.
DeviceMeeting meet_on_devices(Group& group, const Backend& backend, const ReduceOptions& reduce,
                              std::span<const GradientSize> gradients);

}  // namespace assay
