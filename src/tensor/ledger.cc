#include "tensor/ledger.h"

#include "base/error.h"

namespace assay {

const char* name(Verdict verdict) {
  constexpr const char* names[] = {"native", "slow", "widened", "emulated", "unsupported"};
  const auto index = static_cast<std::size_t>(verdict);
  ASSAY_ASSERT(index < std::size(names));
  return names[index];
}

}  // namespace assay
