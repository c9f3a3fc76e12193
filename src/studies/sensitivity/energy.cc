#include "studies/sensitivity/energy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "program/operation.h"
#include "studies/sensitivity/alone.h"

namespace assay {
namespace {

/// Linear layers whose work is the same, by their places among the units.
using AlikeLayers = std::vector<std::size_t>;

std::string kind_of_work(const StudiedModel& subject, const ModelUnit& unit) {
  const Node& node = linear_at(subject.built, unit.name);
  std::string kind = fmt::format("{} {}", node.operation->name, unit.role);
  for (const ValueId in : node.inputs)
    kind += in == no_value ? " none" : " " + to_string(subject.built.value(in).shape);
  return kind + " " + subject.model.weights.at(unit.weights.front()).stored;
}

std::vector<AlikeLayers> alike_layers(const StudiedModel& subject) {
  std::map<std::string, AlikeLayers> by_kind;
  for (std::size_t u = 0; u < subject.units.size(); ++u) {
    if (subject.units[u].is_linear()) by_kind[kind_of_work(subject, subject.units[u])].push_back(u);
  }
  std::vector<AlikeLayers> groups;
  groups.reserve(by_kind.size());
  for (auto& [kind, layers] : by_kind) groups.push_back(std::move(layers));
  return groups;
}

/// fp32 first.
std::vector<const PrecisionChoice*> metered_choices(const StudiedModel& subject) {
  std::vector<const PrecisionChoice*> choices = {&subject.fp32};
  choices.reserve(1 + subject.rows.size());
  for (const PrecisionChoice& row : subject.rows) choices.push_back(&row);
  return choices;
}

/// `choice`: 0 is fp32, which stands beside every row.
void set_joules(const StudiedModel& subject, std::size_t choice, std::size_t unit, double joules,
                ModelSensitivity& study) {
  for (std::size_t row = 0; row < subject.rows.size(); ++row) {
    UnitCost& cost = *study.rows_by_unit[row * subject.units.size() + unit].cost;
    if (choice == 0) cost.fp32_j = joules;
    if (choice == row + 1) cost.low_j = joules;
  }
}

Joules joules_of_whole(const StudiedModel& subject, const QualityBatch& batch, const PrecisionChoice& choice,
                       const Power& power) {
  const auto instance = subject.instance(choice, Fusion::off);
  const AttentionMask mask = batch.mask.empty() ? AttentionMask::absent : AttentionMask::given;
  Plan plan(*instance, {.extent = batch.extent, .mask = mask});
  plan.set_inputs(batch.ids, batch.mask, batch.token_types);
  return joules_of(power, [&] { plan.run(); });
}

/// Of one layer, the mean of all.
double joules_in_turn(const StudiedModel& subject, const AlikeLayers& alike, const LayerInput& input,
                      const PrecisionChoice& choice, const Power& power) {
  std::vector<std::unique_ptr<LayerAlone>> layers;
  layers.reserve(alike.size());
  for (const std::size_t unit : alike) {
    const Node& linear = linear_at(subject.built, subject.units[unit].name);
    layers.push_back(std::make_unique<LayerAlone>(subject, linear, choice, Extent{1, input.x.shape()[0]}));
    layers.back()->set_input(input);
  }
  const auto run = [&] {
    for (const auto& layer : layers) layer->run();
  };
  return joules_of(power, run).value / static_cast<double>(layers.size());
}

void say_windows(const StudiedModel& subject, std::size_t windows, const char* what, const Power& power) {
  if (!subject.callbacks.say) return;
  const double window_s = energy_window_s(power);
  subject.callbacks.say(fmt::format("energy of {} in {} windows of {:.2g} s: about {:.0f} s more", what, windows,
                                    window_s, static_cast<double>(windows) * window_s));
}

}  // namespace

double energy_window_s(const Power& power) {
  constexpr double least_window_s = 0.2;
  return std::max(least_window_s, shortest_window_s(power.source.meter->facts(), power.idle ? power.idle->watts : 0));
}

Joules joules_of(const Power& power, const std::function<void()>& run) {
  EnergyMeter& meter = *power.source.meter;
  const double window_s = energy_window_s(power);
  run();
  EnergySum sum;
  const double begin_missed_j = meter.missed_j();
  const double begin_j = meter.read_j();
  const double begin_s = now_s();
  double elapsed_s = 0;
  for (; elapsed_s < window_s; elapsed_s = now_s() - begin_s) {
    run();
    ++sum.runs;
  }
  sum.add(meter.facts(), meter.read_j() - begin_j, elapsed_s, meter.missed_j() - begin_missed_j);
  if (sum.joules <= 0) fail_lacking("{}: stood still over a window of {:.2g} s", power.source.words, elapsed_s);
  const auto runs = static_cast<double>(sum.runs);
  return {sum.joules / runs, sum.uncertainty_j / runs};
}

void measure_whole_energy(const StudiedModel& subject, const QualityBatch& batch, const Power& power,
                          ModelSensitivity& study) {
  const std::vector<const PrecisionChoice*> choices = metered_choices(subject);
  say_windows(subject, choices.size(), "whole runs", power);
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (is_set(subject.callbacks.interrupted)) return;
    set_joules(subject, i, subject.units.size() - 1, joules_of_whole(subject, batch, *choices[i], power).value, study);
  }
}

void measure_energy_of_layers(const StudiedModel& subject, const QualityBatch& batch, const Power& power,
                              ModelSensitivity& study) {
  const std::vector<const PrecisionChoice*> choices = metered_choices(subject);
  const std::vector<AlikeLayers> groups = alike_layers(subject);
  say_windows(subject, groups.size() * choices.size(), "layers", power);
  for (const AlikeLayers& alike : groups) {
    const ModelUnit& first = subject.units[alike.front()];
    if (subject.callbacks.progress) subject.callbacks.progress("energy of " + first.name, 0);
    const LayerInput input = LayerInputs(subject, batch, {&first}).whole_input_of(first);
    for (std::size_t i = 0; i < choices.size(); ++i) {
      if (is_set(subject.callbacks.interrupted)) return;
      const double joules = joules_in_turn(subject, alike, input, *choices[i], power);
      for (const std::size_t unit : alike) set_joules(subject, i, unit, joules, study);
    }
  }
}

}  // namespace assay
