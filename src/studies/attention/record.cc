#include "studies/attention/record.h"

#include <fmt/format.h>

#include "studies/bench_record.h"

namespace assay {
namespace {

void describe_steps(const AttentionStep& step, Phase phase, Record& record) {
  double moved_bytes = 0;
  for (const Step& one : step.plan().steps()) {
    if (step.instance().program().nodes[one.node].phase != phase) continue;
    record.ledger.push_back(one.ledger);
    moved_bytes += one.bytes;
  }
  record.moved_bytes = moved_bytes;
}

std::string model_name(const AttentionShape& shape, Phase phase) {
  return fmt::format("attention {}, {} heads of {}{}, {}", name(shape.method), shape.heads, shape.head_dim,
                     shape.causal ? ", causal" : "", name(phase));
}

}  // namespace

Record attention_record(const MeasuredPhase& measured, const BenchRequest& bench, const MachineFacts& facts) {
  const AttentionCell& cell = measured.cell;
  Model model;
  model.name = model_name(cell.shape, measured.phase);
  Record record = blank_record(model, bench, facts);
  record.weights = "random";
  record.baseline.clear();  // Methods are compared, not precisions.
  record.precision = cell.precision;
  record.batch = cell.extent.batch;
  record.seq = cell.extent.seq;
  record.fusion = cell.shape.method == AttentionMethod::fused ? "on" : "off";
  record.flops = measured.phase == Phase::forward ? cell.forward_flops : cell.backward_flops;
  record.peak_bytes = cell.memory.peak_bytes;
  record.quality_status = "random weights";
  describe_steps(measured.step, measured.phase, record);
  record_peaks(facts, record);
  record_series(measured.series, {measured.series, {}, bench}, record);
  record.asked_width.reset();
  return record;
}

}  // namespace assay
