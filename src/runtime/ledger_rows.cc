#include "runtime/ledger_rows.h"

namespace assay {

LedgerRow ledger_row(const Node& node, const Call& call, const Prepared& prepared, const LedgerSubject& subject) {
  LedgerRow row;
  row.path = node.path;
  row.operation = node.operation->name;
  row.role = name(node.role);
  row.requested = *node.precision != 0 ? node.precision : subject.precision;
  row.kernel = prepared.description;
  row.operand = prepared.operand;
  row.accumulator = prepared.accumulator;
  row.stored = call.in(0).dtype;
  row.verdict = prepared.verdict;
  row.evidence = prepared.evidence;
  row.device = subject.device;
  return row;
}

std::vector<LedgerInput> ledger_inputs(const Program& program, const PlanOptions& options, const std::string& device) {
  std::vector<LedgerInput> inputs;
  for (const NamedValue& in : program.inputs) {
    if (!is_absent_mask(program, options, in.value)) inputs.push_back({in.name, program.value(in.value).dtype, device});
  }
  return inputs;
}

}  // namespace assay
