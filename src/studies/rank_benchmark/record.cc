#include "studies/rank_benchmark/record.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/json.h"
#include "base/units.h"
#include "results/derive.h"
#include "results/fields.h"
#include "statistics/statistics.h"
#include "studies/shared/rank_place.h"
#include "studies/train_benchmark/record.h"

namespace assay {
namespace {

/// Behind the warm-up.
template <typename T>
std::span<const T> counted(const std::vector<T>& rounds, std::int64_t warmup) {
  const auto first = std::min(static_cast<std::size_t>(warmup), rounds.size());
  return std::span(rounds).subspan(first);
}

/// What of the reduction and the optimizer's shares is not as usual.
std::string rank_step_words(const RankCase& one) {
  std::vector<std::string> words;
  if (one.format.name != ReduceOptions{}.format.name) words.push_back(fmt::format("reduce {}", one.format.name));
  if (one.request.reduce.by == ReduceBy::library) words.emplace_back("reduced by the library");
  if (one.request.stage != ZeroStage::none)
    words.push_back(fmt::format("zero {}", static_cast<int>(one.request.stage)));
  return fmt::format("{}", fmt::join(words, ", "));
}

void set_ranks(const RankCase& one, Setting& setting) {
  setting.ranks = one.group.size();
  const std::string words = rank_step_words(one);
  if (!words.empty()) setting.step = setting.step ? fmt::format("{}, {}", *setting.step, words) : words;
  if (one.neighbours.machines > 1)
    setting.machine = fmt::format("{} machines, the first: {}", one.neighbours.machines, setting.machine);
}

RankedStep ranked_step(const RankCase& one, const RankRounds& made, std::int64_t warmup) {
  RankedStep ranked;
  std::vector<double> hidden_ms;
  for (const RankStep& step : counted(made.slowest, warmup)) {
    ranked.raw_exposed_ms.push_back(step.exposed_s * 1e3);
    hidden_ms.push_back(step.hidden_s * 1e3);
    ranked.sent_bytes = step.sent_bytes;
  }
  if (!hidden_ms.empty()) ranked.hidden_ms = median(hidden_ms);
  for (const AloneRound& round : counted(made.alone, warmup)) {
    ranked.raw_alone_part_ms.push_back(round.part_ms);
    ranked.raw_alone_ms.push_back(round.whole_ms);
    if (!round.one_process_ms) continue;
    ranked.raw_one_process_ms.push_back(*round.one_process_ms);
    ranked.one_process_threads = one.neighbours.threads;
  }
  return ranked;
}

/// Of what the row's plan computes of all rows, each rank does an equal part.
void set_share_of_work(const RankCase& one, const RankRounds& made, Record& record) {
  if (record.evidence.flops) *record.evidence.flops /= one.group.size();
  if (made.variant.trainer == nullptr) return;
  record.evidence.ledger.push_back(made.reduction);
  record.evidence.operation_bytes.push_back(made.slowest.empty() ? 0
                                                                 : static_cast<double>(made.slowest.back().sent_bytes));
}

/// Others than this machine's ranks.
void set_foreign_load(const RankCase& one, const RankRounds& made, Record& record) {
  Conditions conditions;
  for (const StepSample& step : counted(made.variant.steps, most_warmup(one.request.steps)))
    conditions.add(step.before, step.after);
  record.circumstances.made().foreign_load = conditions.foreign_load(one.neighbours.threads);
}

using EnergyFigure = std::optional<double> Energy::*;

/// Of all machines; absent where one of them lacks it.
std::optional<double> sum_over_machines(std::span<const MachineEnergy> machines, EnergyFigure figure) {
  double sum = 0;
  for (const MachineEnergy& one : machines) {
    if (!(one.energy.*figure)) return std::nullopt;
    sum += *(one.energy.*figure);
  }
  return sum;
}

std::optional<double> most_of(std::span<const MachineEnergy> machines, EnergyFigure figure) {
  std::optional<double> most;
  for (const MachineEnergy& one : machines) {
    if (one.energy.*figure) most = std::max(most.value_or(0), *(one.energy.*figure));
  }
  return most;
}

Energy without_figures(std::string why) {
  return {.energy_status = {EnergyState::no_meter, std::move(why)}};
}

std::string too_short_words(const MachineEnergy& machine) {
  return fmt::format("{:.0f} % of the windows, a step each, are shorter than {} updates or steps of {}",
                     100 * *machine.energy.energy_short_share, fewest_resolutions, machine.energy.energy_status.detail);
}

/// Why this machine has no figure; empty where it has.
std::string energy_fault(const MachineEnergy& machine) {
  const Energy& energy = machine.energy;
  if (energy.energy_status.state != EnergyState::metered) return energy.energy_status.detail;
  if (!energy.energy_j) return "its meter was not read";
  return energy.energy_short_share.value_or(0) > 0 ? too_short_words(machine) : std::string();
}

}  // namespace

Energy energy_of_machines(std::span<const MachineEnergy> machines) {
  for (const MachineEnergy& machine : machines) {
    const std::string fault = energy_fault(machine);
    if (!fault.empty()) return without_figures(machines.size() > 1 ? machine.host + ": " + fault : fault);
  }
  if (machines.empty()) return without_figures("no machine read one");
  Energy all = machines.front().energy;
  if (machines.size() == 1) return all;
  for (const EnergyFigure figure :
       {&Energy::energy_j, &Energy::energy_net_j, &Energy::energy_net_uncertainty_j, &Energy::energy_uncertainty_j,
        &Energy::power_w, &Energy::idle_power_w, &Energy::idle_uncertainty_w, &Energy::idle_before_w,
        &Energy::idle_after_w, &Energy::power_limit_w})
    all.*figure = sum_over_machines(machines, figure);
  for (const EnergyFigure figure : {&Energy::idle_busy_processors, &Energy::energy_foreign_processors,
                                    &Energy::energy_resolution_j, &Energy::energy_update_s})
    all.*figure = most_of(machines, figure);
  std::vector<std::string> meters;
  meters.reserve(machines.size());
  for (const MachineEnergy& machine : machines)
    meters.push_back(fmt::format("{}: {}", machine.host, machine.energy.energy_status.detail));
  all.energy_status.detail = fmt::format("{}", fmt::join(meters, "; "));
  all.window_power_w.clear();  // Each is of one machine.
  all.other_energy.clear();
  all.energy_conflict.reset();
  return all;
}

std::vector<MachineEnergy> gather_energy(const RankCase& one, const Energy& mine) {
  std::string text;
  if (one.neighbours.reads) {
    Record carrier;
    carrier.energy = mine;
    OrderedJson json = OrderedJson::object();
    json["host"] = this_place().host;
    json["record"] = to_json(carrier);
    text = json.dump();
  }
  std::vector<MachineEnergy> machines;
  for (const std::string& said : all_gather(one.group, text)) {
    if (said.empty() || one.group.rank() != 0) continue;
    const Json json = parse_json(said, "a rank's energy");
    machines.push_back(
        {json.at("host").get<std::string>(), *record_from_json(json.at("record"), "a rank's energy").energy});
  }
  return machines;
}

Record record_of_ranks(const RankCase& one, const RankRounds& made, std::int64_t number) {
  const TrainBenchmarkRequest& steps = one.request.steps;
  const TrainCell cell = {one.model, one.extent, steps, one.facts, one.callbacks, one.power, {}, {}};
  const std::int64_t warmup = most_warmup(steps);
  Record record = record_of(cell, made.variant, warmup);
  record.outcome.group = number;
  set_ranks(one, record.setting);
  set_share_of_work(one, made, record);
  if (!record.latency) return record;
  for (const auto energy : {&Training::forward_energy_j, &Training::backward_energy_j, &Training::optimizer_energy_j})
    (record.training.made().*energy).reset();  // The meter was read around whole steps.
  record.ranked = ranked_step(one, made, warmup);
  derive_ranked(record, record.ranked.made());
  set_foreign_load(one, made, record);
  record.rates = rates_of(record);
  return record;
}

}  // namespace assay
