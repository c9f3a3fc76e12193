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
  for (const LedgerRow& row : record.ledger) all.push_back({&row, 0, 0});
  return all;
}

}  // namespace assay
