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
  all.reserve(record.ledger.size());
  const bool has_bytes = record.operation_bytes.size() == record.ledger.size();
  const bool has_ms = record.operation_ms.size() == record.ledger.size();
  for (std::size_t i = 0; i < record.ledger.size(); ++i) {
    all.push_back({&record.ledger[i], has_bytes ? record.operation_bytes[i] : 0, has_ms ? record.operation_ms[i] : 0});
  }
  return all;
}

}  // namespace assay
