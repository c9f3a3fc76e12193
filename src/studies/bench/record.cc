#include "studies/bench/record.h"

#include "results/derive.h"
#include "results/identity.h"
#include "studies/shared/setting.h"

namespace assay {

Setting bench_setting(const Model& model, const BenchRequest& request, const MachineFacts& facts) {
  Setting setting = setting_of(model, request.engine, request.model_options.seed, facts);
  setting.caches = request.caches == Caches::cold ? CacheState::cold : CacheState::warm;
  return setting;
}

void close_record(const BenchRequest& request, Record& record) {
  mark_share(request.division, record);
  if (request.baseline_rows == BaselineRows::of_another_shard && is_baseline(record.setting))
    record.share.made().compared_only = true;
  Energy& energy = record.energy.made();
  set_prices(request.energy, energy);
  if (record.latency->samples == 0) energy.energy_status = {EnergyState::not_run};
  record.rates = rates_of(record);
  if (request.quality == QualityMode::none || record.quality) return;
  const QualityStatus unscored = record.outcome.status == Status::ok
                                     ? QualityStatus{QualityState::interrupted, " before anything was scored"}
                                     : QualityStatus{QualityState::not_run, name(record.outcome.status)};
  record.quality = Quality{.quality_status = unscored};
}

}  // namespace assay
