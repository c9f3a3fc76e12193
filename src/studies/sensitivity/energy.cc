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
#include "measure/energy_apart.h"
#include "measure/energy_figures.h"
#include "program/operation.h"
#include "studies/sensitivity/alone.h"

namespace assay {
namespace {

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

/// All of the alike layers in one precision.
class LayersInTurn {
 public:
  LayersInTurn(const StudiedModel& subject, const AlikeLayers& alike, const LayerInput& input,
               const PrecisionChoice& choice) {
    layers_.reserve(alike.size());
    for (const std::size_t unit : alike) {
      const Node& linear = linear_at(subject.built, subject.units[unit].name);
      layers_.push_back(std::make_unique<LayerAlone>(subject, linear, choice, Extent{1, input.x.shape()[0]}));
      layers_.back()->set_input(input);
    }
  }
  void run() {
    for (const auto& layer : layers_) layer->run();
  }

 private:
  std::vector<std::unique_ptr<LayerAlone>> layers_;
};

/// Runs of nothing but what is metered, so that windows and the times before them are of the same work.
std::vector<Subject> metered_subjects(std::span<const std::function<void()>> runs) {
  std::vector<Subject> subjects;
  subjects.reserve(runs.size());
  for (const auto& run : runs) {
    subjects.emplace_back();
    subjects.back().run = run;
    subjects.back().read_result = [] { return 0.0; };
  }
  return subjects;
}

/// What runs take once they are warm, which windows are held against.
Series warm_times(const std::function<void()>& run) {
  constexpr int timed_runs = 3;
  Series series;
  run();
  for (int i = 0; i < timed_runs; ++i) {
    const double begin_s = now_s();
    run();
    series.raw_ms.push_back(1e3 * (now_s() - begin_s));
  }
  return series;
}

Joules joules_in(const Series& series, const Power& power) {
  if (!series.energy_fault.empty()) fail_lacking("{}", series.energy_fault);
  if (!series.energy || series.energy->runs == 0 || series.energy->joules <= 0)
    fail_lacking("{}: stood still over windows of {:.2g} s", power.source.words, energy_window_s(power));
  const EnergyOfOne one = energy_of_one(series, 1);
  return {one.joules, one.uncertainty_j};
}

void say_windows(const StudiedModel& subject, std::size_t metered, const char* what, const Power& power) {
  if (!subject.callbacks.say) return;
  const double window_s = energy_window_s(power);
  const std::size_t windows = windows_of_each * metered;
  subject.callbacks.say(fmt::format("energy of {} in {} windows of {:.2g} s: about {:.0f} s more", what, windows,
                                    window_s, static_cast<double>(windows) * window_s));
}

}  // namespace

double energy_window_s(const Power& power) {
  constexpr double least_window_s = 0.2;
  return std::max(least_window_s, shortest_window_s(power.source.meter->facts(), power.idle ? power.idle->watts : 0));
}

std::vector<Joules> joules_of_each(const Power& power, std::span<const std::function<void()>> runs,
                                   InterruptFlag interrupted) {
  SamplingOptions options;
  options.meter = power.source.meter.get();
  options.energy_window_s = energy_window_s(power);
  options.interrupted = interrupted;
  if (power.idle) options.usual_processors = power.idle->busy_processors;
  std::vector<Series> series;
  series.reserve(runs.size());
  for (const auto& run : runs) series.push_back(warm_times(run));
  measure_energy_apart(metered_subjects(runs), series, options);
  if (is_set(interrupted)) return {};
  std::vector<Joules> joules;
  joules.reserve(series.size());
  for (const Series& one : series) joules.push_back(joules_in(one, power));
  return joules;
}

std::vector<Joules> joules_of_wholes(const StudiedModel& subject, const QualityBatch& batch,
                                     std::span<const PrecisionChoice* const> choices, const Power& power) {
  const AttentionMask mask = batch.mask.empty() ? AttentionMask::absent : AttentionMask::given;
  std::vector<std::unique_ptr<Instance>> instances;
  std::vector<std::unique_ptr<Plan>> plans;
  std::vector<std::function<void()>> runs;
  instances.reserve(choices.size());
  plans.reserve(choices.size());
  runs.reserve(choices.size());
  for (const PrecisionChoice* choice : choices) {
    instances.push_back(subject.instance(*choice, Fusion::off));
    plans.push_back(std::make_unique<Plan>(*instances.back(), PlanOptions{.extent = batch.extent, .mask = mask}));
    plans.back()->set_inputs(batch.ids, batch.mask, batch.token_types);
    runs.emplace_back([plan = plans.back().get()] { plan->run(); });
  }
  return joules_of_each(power, runs, subject.callbacks.interrupted);
}

std::vector<Joules> joules_of_layers(const StudiedModel& subject, const AlikeLayers& alike, const LayerInput& input,
                                     std::span<const PrecisionChoice* const> choices, const Power& power) {
  std::vector<std::unique_ptr<LayersInTurn>> layers;
  std::vector<std::function<void()>> runs;
  layers.reserve(choices.size());
  runs.reserve(choices.size());
  for (const PrecisionChoice* choice : choices) {
    layers.push_back(std::make_unique<LayersInTurn>(subject, alike, input, *choice));
    runs.emplace_back([in_turn = layers.back().get()] { in_turn->run(); });
  }
  std::vector<Joules> joules = joules_of_each(power, runs, subject.callbacks.interrupted);
  const auto count = static_cast<double>(alike.size());
  for (Joules& one : joules) one = {one.value / count, one.uncertainty / count};
  return joules;
}

void measure_whole_energy(const StudiedModel& subject, const QualityBatch& batch, const Power& power,
                          ModelSensitivity& study) {
  const std::vector<const PrecisionChoice*> choices = metered_choices(subject);
  say_windows(subject, choices.size(), "whole runs", power);
  if (subject.callbacks.progress) subject.callbacks.progress("energy of whole runs", 0);
  const std::vector<Joules> joules = joules_of_wholes(subject, batch, choices, power);
  for (std::size_t i = 0; i < joules.size(); ++i)
    set_joules(subject, i, subject.units.size() - 1, joules[i].value, study);
}

void measure_energy_of_layers(const StudiedModel& subject, const QualityBatch& batch, const Power& power,
                              ModelSensitivity& study) {
  const std::vector<const PrecisionChoice*> choices = metered_choices(subject);
  const std::vector<AlikeLayers> groups = alike_layers(subject);
  say_windows(subject, groups.size() * choices.size(), "layers", power);
  for (const AlikeLayers& alike : groups) {
    if (is_set(subject.callbacks.interrupted)) return;
    const ModelUnit& first = subject.units[alike.front()];
    if (subject.callbacks.progress) subject.callbacks.progress("energy of " + first.name, 0);
    const LayerInput input = LayerInputs(subject, batch, {&first}).whole_input_of(first);
    const std::vector<Joules> joules = joules_of_layers(subject, alike, input, choices, power);
    for (std::size_t i = 0; i < joules.size(); ++i) {
      for (const std::size_t unit : alike) set_joules(subject, i, unit, joules[i].value, study);
    }
  }
}

}  // namespace assay
