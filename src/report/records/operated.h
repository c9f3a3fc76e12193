#pragma once

#include <vector>

#include "results/record.h"

namespace assay {

/// A row of a ledger with what the record knows of that operation beside it; 0: not known.
struct Operated {
  const LedgerRow* row = nullptr;
  double bytes = 0;
  double ms = 0;
};

inline std::vector<Operated> operations_of(const Record& record) {
  std::vector<Operated> all;
  all.reserve(record.evidence.ledger.size());
  const bool has_bytes = record.evidence.operation_bytes.size() == record.evidence.ledger.size();
  const bool has_ms = record.evidence.operation_ms.size() == record.evidence.ledger.size();
  for (std::size_t i = 0; i < record.evidence.ledger.size(); ++i) {
    all.push_back({&record.evidence.ledger[i], has_bytes ? record.evidence.operation_bytes[i] : 0,
                   has_ms ? record.evidence.operation_ms[i] : 0});
  }
  return all;
}

}  // namespace assay
