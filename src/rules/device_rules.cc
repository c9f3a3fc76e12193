#include "rules/rule_tables.h"

namespace assay {
namespace {

Judgement says_host_bound(const Cell&, const Record& row) {
  if (!row.latency->device_ms || !row.latency->enqueue_ms || *row.latency->enqueue_ms <= *row.latency->device_ms)
    return {};
  return {fmt::format("{} waits for the processor: queueing a pass takes {} ms, the GPU computes it in {} ms{}.",
                      row.setting.precision, format_significant(*row.latency->enqueue_ms),
                      format_significant(*row.latency->device_ms),
                      row.setting.graphs == Switch::off ? "; --graphs on queues it at once" : ""),
          {}};
}

Judgement says_left_out(const Cell&, const Record& row) {
  if (row.latency->throttled_rounds.value_or(0) == 0) return {};
  return {fmt::format("Rounds that were left out, since the GPU's clocks were held down: {}; {} count.",
                      *row.latency->throttled_rounds, row.latency->samples),
          {}};
}

constexpr Rule device_findings[] = {
    {.id = "host_bound",
     .kind = RuleKind::finding,
     .evidence = "enqueue_ms, device_ms",
     .states = "Queueing a pass takes the processor longer than the GPU needs for it.",
     .judge = says_host_bound,
     .severity = Severity::medium,
     .remedy = "Record the pass (`--graphs on`), fuse, or use larger shapes; device_ms is what the GPU would take."},
    {.id = "throttled_rounds",
     .kind = RuleKind::finding,
     .evidence = "throttled_rounds",
     .states = "Rounds were left out since a GPU's clocks were held down before or after one of their windows.",
     .judge = says_left_out,
     .severity = Severity::low,
     .remedy = "Cool the board, or cap its clocks below what it can hold."},
};

}  // namespace

std::span<const Rule> device_rules() {
  return device_findings;
}

}  // namespace assay
