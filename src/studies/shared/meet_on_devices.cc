#include "studies/shared/meet_on_devices.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/gpu_bus_id.h"
#include "studies/shared/own_gpu.h"

namespace assay {
namespace {

/// Why this rank cannot, as far as it knows by itself.
std::string own_fault(const ReduceOptions& reduce, std::span<const GradientSize> gradients) {
  const auto other =
      std::ranges::find_if(gradients, [&](const GradientSize& one) { return one.dtype != reduce.format.wire; });
  if (other == gradients.end()) return device_sums_fault();
  return fmt::format("gradients of {} would have to be rounded to {} first", name(other->dtype),
                     name(reduce.format.wire));
}

std::string fault_of_any(Group& group, const std::string& mine) {
  const std::vector<std::string> all = all_gather(group, mine);
  const auto faulty = std::ranges::find_if(all, [](const std::string& fault) { return !fault.empty(); });
  if (faulty != all.end()) return fmt::format("rank {}: {}", faulty - all.begin(), *faulty);
  return shared_gpu(group, gpu_bus_id());
}

}  // namespace

DeviceMeeting meet_on_devices(Group& group, const Backend& backend, const ReduceOptions& reduce,
                              std::span<const GradientSize> gradients) {
  // Threads of one process have one device between them.
  if (reduce.by != ReduceBy::library || group.is_one_process() || backend.memory().is_host()) return {};
  const std::string fault = fault_of_any(group, own_fault(reduce, gradients));
  if (!fault.empty()) return {.words = fmt::format("gradients are summed on the hosts: {}", fault)};
  MeetingId id{};
  agreed(group, [&] {
    if (group.rank() == 0) id = make_meeting_id();
  });
  broadcast(group, id, 0);
  DeviceMeeting meeting;
  agreed(group, [&] { meeting.sums = join_device_sums(id, group.rank(), group.size()); });
  return meeting;
}

}  // namespace assay
