#include "studies/attention/record.h"

#include <fmt/format.h>

#include "studies/shared/plan_record.h"
#include "studies/shared/series_record.h"
#include "studies/shared/setting.h"

namespace assay {
namespace {

Evidence attention_evidence(const MeasuredPhase& measured, const MachineFacts& facts) {
  const AttentionStep& step = measured.step;
  const AttentionCell& cell = measured.cell;
  Evidence evidence{.flops = measured.phase == Phase::forward ? cell.forward_flops : cell.backward_flops,
                    .moved_bytes = 0};
  for (const Step& one : step.plan().steps()) {
    if (step.instance().program().nodes[one.node].phase != measured.phase) continue;
    evidence.ledger.push_back(one.ledger);
    *evidence.moved_bytes += one.bytes;
  }
  set_peaks(facts, evidence);
  return evidence;
}

std::string model_name(const AttentionShape& shape, Phase phase) {
  return fmt::format("attention {}, {} heads of {}{}, {}", name(shape.method), shape.heads, shape.head_dim,
                     shape.causal ? ", causal" : "", name(phase));
}

Setting attention_setting(const MeasuredPhase& measured, const AttentionRequest& request, const MachineFacts& facts) {
  const AttentionCell& cell = measured.cell;
  Setting setting = setting_on(request.device, request.seed, facts);
  setting.model = model_name(cell.shape, measured.phase);
  setting.weights = "random";
  setting.baseline.clear();  // Methods are compared, not precisions.
  setting.precision = cell.precision;
  setting.batch = cell.extent.batch;
  setting.seq = cell.extent.seq;
  setting.fusion = switched(cell.shape.method == AttentionMethod::fused);
  return setting;
}

}  // namespace

Record attention_record(const MeasuredPhase& measured, const AttentionRequest& request, const MachineFacts& facts) {
  Record record{.setting = attention_setting(measured, request, facts),
                .memory = MemoryUse{.peak_bytes = measured.cell.memory.peak_bytes},
                .quality = Quality{.quality_status = {QualityState::random_weights}},
                .evidence = attention_evidence(measured, facts)};
  record_series(measured.series, {.baseline = {}, .power = {}, .seed = request.seed}, record);
  mark_share(request.division, record);
  return record;
}

}  // namespace assay
