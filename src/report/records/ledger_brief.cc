#include "report/records/ledger_brief.h"

#include <fmt/format.h>

#include <algorithm>

namespace assay {
namespace {

struct LedgerGroup {
  const LedgerRow* row;
  int count;
};

std::string group_line(const LedgerGroup& group) {
  const LedgerRow& row = *group.row;
  std::string arithmetic = fmt::format("in {}", name(row.accumulator));
  if (multiplies(row)) {
    arithmetic = fmt::format("{} x {} -> {}", name(row.operand), name(row.operand), name(row.accumulator));
  }
  std::string line =
      fmt::format("{} {}: {}, {}: {}", group.count, row.operation, arithmetic, row.kernel, name(row.verdict));
  if (!row.evidence.empty()) line += fmt::format(" ({})", row.evidence);
  if (row.device != "cpu") line += " on " + row.device;
  return line;
}

}  // namespace

bool ran_alike(const LedgerRow& a, const LedgerRow& b) {
  return a.operation == b.operation && a.kernel == b.kernel && a.operand == b.operand &&
         a.accumulator == b.accumulator && a.verdict == b.verdict && a.evidence == b.evidence && a.device == b.device;
}

std::vector<std::string> ledger_brief(const Record& record) {
  std::vector<LedgerGroup> groups;
  for (const LedgerRow& row : record.evidence.ledger) {
    const auto known = std::find_if(groups.begin(), groups.end(),
                                    [&](const LedgerGroup& group) { return ran_alike(*group.row, row); });
    if (known == groups.end()) {
      groups.push_back({&row, 1});
    } else {
      ++known->count;
    }
  }
  std::vector<std::string> lines;
  lines.reserve(groups.size());
  for (const LedgerGroup& group : groups) lines.push_back(group_line(group));
  return lines;
}

}  // namespace assay
