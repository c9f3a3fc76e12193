#include "studies/tune/aims.h"

#include <cstddef>
#include <iterator>

namespace assay {
namespace {

/// In the order of Aim.
constexpr AimFacts all_aim_facts[] = {
    {"latency", "ms", "faster", "as fast", &UnitCost::fp32_ms, &UnitCost::low_ms, false, {"latency", Mode::inference}},
    {"decode", "ms", "faster", "as fast", &UnitCost::fp32_ms, &UnitCost::low_ms, false, {"latency", Mode::decode}},
    {"energy", "J", "thriftier", "as thrifty", &UnitCost::fp32_j, &UnitCost::low_j, false, {"energy", Mode::inference}},
    {"bytes",
     "bytes",
     "smaller",
     "as small",
     &UnitCost::fp32_bytes,
     &UnitCost::low_bytes,
     true,
     {"size", Mode::inference}}};
static_assert(std::size(all_aim_facts) == static_cast<std::size_t>(Aim::bytes) + 1);

}  // namespace

const AimFacts& facts_of(Aim aim) {
  return all_aim_facts[static_cast<std::size_t>(aim)];
}

const char* name(Aim aim) {
  return facts_of(aim).name;
}

}  // namespace assay
