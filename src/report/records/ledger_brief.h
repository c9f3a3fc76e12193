#pragma once

#include <string>
#include <vector>

#include "results/record.h"

namespace assay {

/// Whether the same kernel did both in the same arithmetic, for the same reasons.
bool ran_alike(const LedgerRow& a, const LedgerRow& b);

/// The ledger, a line for each kernel: "73 linear: s8 x s8 -> s32, avx512 vnni, packed: native (…)", in the order in
/// which the kernels first appear.
std::vector<std::string> ledger_brief(const Record& record);

}  // namespace assay
