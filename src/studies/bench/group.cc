#include "studies/bench/group.h"

#include <fmt/format.h>

#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "results/model_name.h"
#include "studies/bench/engines.h"
#include "studies/shared/hindrance.h"
#include "studies/shared/plan_record.h"
#include "studies/shared/setting.h"

namespace assay {
namespace {

/// The emulated operation that does most of the work, if any; of a ledger that the caller holds.
const LedgerRow* emulated_row(const std::vector<LedgerRow>& ledger) {
  const LedgerRow* most = nullptr;
  for (const LedgerRow& row : ledger) {
    if (row.verdict == Verdict::emulated && (most == nullptr || row.flops > most->flops)) most = &row;
  }
  return most;
}

}  // namespace

bool is_left_out(Record& record) {
  const LedgerRow* emulated = emulated_row(record.evidence.ledger);
  if (emulated == nullptr) return false;
  record.outcome.status = Status::emulated;
  record.outcome.reason =
      fmt::format("{} computes {} in {} here ({}); --emulated measures it", record.setting.precision,
                  emulated->operation, name(emulated->operand), emulated->evidence);
  return true;
}

BenchGroup::BenchGroup(const Model& model, MachineFacts facts, const GroupContext& context)
    : model_(model), shown_name_(shown_model_name(model.name)), context_(context), facts_(std::move(facts)) {}

void BenchGroup::open(const std::vector<Contender>& contenders, const Setting& setting) {
  make_cold_caches();
  for (const Contender& contender : contenders) {
    Member member{contender, {.setting = setting}, nullptr};
    member.blank.setting.precision = contender.precision;
    member.blank.outcome.group = context_.number;
    if (contender.engine.empty()) {
      open_own(member);
    } else {
      set_engine(contender, request(), peers(), member.blank);
    }
    members_.push_back(std::move(member));
  }
}

void BenchGroup::open_own(Member& member) {
  const Contender& contender = member.contender;
  if (lacks_scales(contender, request())) {
    member.blank.outcome.status = Status::unsupported;
    member.blank.outcome.reason = "has scales from calibration data only (--calibrate DATA)";
    return;
  }
  const EngineOptions engine = engine_for(contender, request().engine);
  const auto hindrance =
      hindrance_of([&] { member.instance = make_instance(model_, contender.precision, engine, facts_); });
  if (hindrance) set_outcome(*hindrance, member.blank.outcome);
  if (!member.instance) return;
  set_precision(contender.precision, member.instance->precision(), engine, member.blank.setting);
  const CalibratedWeights* const calibrated = calibrated_for(model_, member.instance->precision());
  if (calibrated != nullptr) member.blank.setting.calibration = calibrated->words;
}

/// Before plans are fitted into what memory is left. A device that is not there is each row's to say.
void BenchGroup::make_cold_caches() {
  if (request().caches == Caches::warm) return;
  try {
    cold_ = std::make_unique<ColdCaches>(find_backend(request().engine.device).memory(), facts_);
  } catch (const OutOfMemory&) {
    throw;
  } catch (const Error& e) {
    if (e.code() != ExitCode::lacking) throw;
  }
}

/// Before anything is packed here, so that a trial has the memory for itself.
void BenchGroup::try_apart(const std::vector<Extent>& extents) {
  for (const Extent extent : extents) {
    for (Member& member : members_) {
      if (!member.instance) continue;
      if (callbacks().progress)
        callbacks().progress(fmt::format("{} {} {} x {}: in a process of its own", shown_name_,
                                         member.blank.setting.precision, extent.batch, extent.seq),
                             0);
      ResidentRequest once = trial_request(model_, request(), extent);
      once.precision = member.contender.precision;
      once.engine = engine_for(member.contender, once.engine);
      ResidentAnswer answer = resident_in_child(once, facts_, {request().trial_program, trial_limit_s(request())});
      if (is_set(callbacks().interrupted)) return;
      member.trials.push_back({extent, std::move(answer)});
    }
  }
}

std::vector<Record> BenchGroup::blanks(const CellInputs& inputs) const {
  std::vector<Record> all;
  for (const Member& member : members_) {
    all.push_back(member.blank);
    all.back().setting.batch = inputs.extent.batch;
    all.back().setting.seq = inputs.extent.seq;
    set_inputs(request(), inputs, all.back().setting);
  }
  return all;
}

std::int64_t BenchGroup::held_bytes() const {
  std::int64_t held = 0;
  for (const Member& member : members_) held += member.instance ? member.instance->resident_bytes() : 0;
  return held;
}

std::optional<std::int64_t> BenchGroup::free_bytes(std::int64_t arenas) const {
  if (facts_.available_bytes <= 0) return std::nullopt;
  return facts_.available_bytes - arenas - held_bytes();
}

std::unique_ptr<Plan> BenchGroup::make_plan(Member& member, const PlanOptions& options, Record& record) {
  if (!member.instance) return nullptr;
  const ResidentAnswer* trial = find_trial(member.trials, options.extent);
  if (trial != nullptr) {
    set_outcome(*trial, record.outcome);
    record.memory = MemoryUse{.resident_bytes = trial->bytes};
  }
  if (record.outcome.status != Status::ok) return nullptr;
  std::unique_ptr<Plan> plan;
  const auto hindrance = hindrance_of([&] {
    const double before_s = now_s();
    plan = std::make_unique<Plan>(*member.instance, options);
    record.latency.made().prepare_ms = (now_s() - before_s) * 1e3;
    record.memory = memory_of(*plan, *member.instance, record.memory->resident_bytes);
    record.evidence = evidence_of(*plan, *member.instance, facts_);
    record.evidence.flops = model_flops(model_, request().engine.program, options.extent);
  });
  if (hindrance) {
    set_outcome(*hindrance, record.outcome);
    return nullptr;
  }
  if (request().emulated == Emulated::left_out && is_left_out(record)) return nullptr;
  if (trial != nullptr) say_declined(*trial, record);
  return plan;
}

void BenchGroup::say_declined(const ResidentAnswer& trial, const Record& record) const {
  if (trial.ending != Ending::declined || !callbacks().say) return;
  callbacks().say(fmt::format("{} {}: timed without a trial: {}", shown_name_, record.setting.precision, trial.fault));
}

}  // namespace assay
