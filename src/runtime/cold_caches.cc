#include "runtime/cold_caches.h"

#include <algorithm>

namespace assay {
namespace {

constexpr std::size_t line = 64;
/// Where the caches are not known.
constexpr std::int64_t unknown_bytes = 256LL << 20;

std::size_t bytes_for(const MachineFacts& facts) {
  std::int64_t caches = 0;
  for (const Cache& cache : facts.caches) caches += cache.bytes * std::max(cache.instances, 1);
  return static_cast<std::size_t>(caches > 0 ? 2 * caches : unknown_bytes);
}

}  // namespace

ColdCaches::ColdCaches(const Device& device, const MachineFacts& facts)
    : device_(device), bytes_(bytes_for(facts)), memory_(allocate_on(device, bytes_)) {
  device_.clear(memory_.get(), bytes_);
}

/// On the host by single stores, since memset writes that much past the caches, and by the threads that kernels run on:
/// each takes a part that is more than its own core's caches hold.
void ColdCaches::empty() {
  if (!device_.is_host()) return device_.clear(memory_.get(), bytes_);
  const auto lines = static_cast<std::int64_t>(bytes_ / line);
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < lines; ++i) {
    volatile std::byte& at = memory_[static_cast<std::size_t>(i) * line];
    at = static_cast<std::byte>(static_cast<unsigned>(at) + 1);
  }
}

}  // namespace assay
