#include "rules/rule_tables.h"

namespace assay {
namespace {

Judgement says_host_bound(const Cell&, const Record& row) {
  if (!row.latency->device_ms || !row.latency->enqueue_ms || *row.latency->enqueue_ms <= *row.latency->device_ms)
    return {};
  return {fmt::format("{} waits for the processor: queueing a pass takes {} ms, the GPU computes it in {} ms{}.",
                      row.setting.precision, format_significant(*row.latency->enqueue_ms),
                      format_significant(*row.latency->device_ms),
                      row.setting.graphs == "off" ? "; --graphs on queues it at once" : ""),
          {}};
}

Judgement says_left_out(const Cell&, const Record& row) {
  if (row.latency->throttled_rounds.value_or(0) == 0) return {};
  return {fmt::format("Rounds that were left out, since the GPU's clocks were held down: {}; {} count.",
                      *row.latency->throttled_rounds, row.latency->samples),
          {}};
}

constexpr Rule device_findings[] = {
    {"host_bound", RuleKind::finding, ' ', RuleScope::row, "enqueue_ms, device_ms",
     "Queueing a pass takes the processor longer than the GPU needs for it.", says_host_bound, Severity::medium,
     "Record the pass (`--graphs on`), fuse, or use larger shapes; device_ms is what the GPU would take."},
    {"throttled_rounds", RuleKind::finding, ' ', RuleScope::row, "throttled_rounds",
     "Rounds were left out since a GPU's clocks were held down before or after one of their windows.", says_left_out,
     Severity::low, "Cool the board, or cap its clocks below what it can hold."},
};

}  // namespace

std::span<const Rule> device_rules() {
  return device_findings;
}

}  // namespace assay
