#include "runtime/ledger_rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace assay {
namespace {

/// Types in which the file holds the weights that a constant is made of.
void collect_types(const LedgerSubject& subject, ValueId id, std::set<std::string>& types) {
  const Value& value = subject.program.value(id);
  if (value.source == Source::weight) {
    const auto found = subject.weights.by_name.find(value.name);
    if (found != subject.weights.by_name.end()) types.insert(found->second.stored);
    return;
  }
  for (const Node& node : subject.program.nodes) {
    if (std::find(node.outputs.begin(), node.outputs.end(), id) == node.outputs.end()) continue;
    for (const ValueId in : node.inputs) {
      if (in != no_value) collect_types(subject, in, types);
    }
  }
}

/// Of the matrix that the node reads, if it reads one.
void describe_weight(const Node& node, const Call& call, const LedgerSubject& subject, LedgerRow& row) {
  const auto matrix = std::find_if(call.inputs.begin(), call.inputs.end(),
                                   [](const Argument& in) { return in.constant && in.shape.size() == 2; });
  if (matrix == call.inputs.end()) return;
  std::set<std::string> types;
  collect_types(subject, node.inputs[static_cast<std::size_t>(matrix - call.inputs.begin())], types);
  row.weight_in_file = fmt::format("{}", fmt::join(types, " and "));
  row.weight_kept = node.attributes.blocks != nullptr ? node.attributes.blocks->name : name(matrix->dtype);
}

}  // namespace

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
  describe_weight(node, call, subject, row);
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
