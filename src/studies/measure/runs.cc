#include "studies/measure/runs.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "base/error.h"
#include "base/secrets.h"
#include "base/streams.h"

namespace assay {
namespace {

/// A meter is looked at no more often than this: each look costs some microseconds of a processor.
constexpr double fastest_look_s = 0.01;

std::string how_it_ended(const ChildRun& run) {
  if (run.signal != 0) return fmt::format("was ended by signal {}", run.signal);
  return fmt::format("exit code {}", run.exit_code);
}

void check_success(const ChildCommand& command, const ChildRun& run) {
  if (run.was_interrupted || (run.exit_code == 0 && run.signal == 0)) return;
  tell(run.output_end);
  if (!run.output_end.empty() && run.output_end.back() != '\n') tell("\n");
  fail_user("{}: {}; a program that fails has no figures", without_secrets(command.text), how_it_ended(run));
}

}  // namespace

void ProgramRuns::keep_phases(const MarkerReader& markers, const EnergyTrack& track, ObservedRun& run) const {
  run.marker_faults = markers.faults();
  run.first_marker_fault = markers.first_fault();
  for (const MarkedPhase& phase : markers.phases()) {
    auto& spans = run.phases.emplace_back(phase.name, std::vector<MeteredSpan>{}).second;
    for (const PhaseSpan& span : phase.spans) {
      MeteredSpan metered{.span = span};
      if (!track.empty()) {
        metered.joules = track.joules_between(span.begin_s, span.end_s);
        metered.uncertainty_j =
            window_uncertainty_j(shared_.meter->facts(), metered.joules, span.end_s - span.begin_s) +
            track.missed_between(span.begin_s, span.end_s);
      }
      spans.push_back(metered);
    }
  }
}

void ProgramRuns::run(ChildOutput output) {
  MarkerReader markers(now_s());
  EnergyTrack track;
  bool is_metered = shared_.meter != nullptr;
  bool is_marked = false;
  const auto look = [&] {
    if (!is_metered || !is_marked) return;
    try {
      track.look(*shared_.meter, now_s());
    } catch (const Error&) {
      is_metered = false;  // The sampler reads it next and says so.
      track.clear();
    }
  };
  ChildOptions options;
  options.output = output;
  options.interrupted = shared_.interrupted;
  options.left_behind = &shared_.left_behind;
  options.program = program_;
  options.on_markers = [&](std::string_view bytes) {
    is_marked = true;
    look();
    markers.take(bytes);
  };
  if (is_metered) options.tick_s = std::max(shared_.meter->facts().update_period_s, fastest_look_s);
  options.on_tick = look;
  ObservedRun run;
  run.child = run_child(command_, options);
  shared_.left_behind.after_run(program_);
  check_success(command_, run.child);
  look();
  markers.finish(now_s());
  keep_phases(markers, track, run);
  runs_.push_back(std::move(run));
}

double ProgramRuns::last_s(const std::string& phase) const {
  if (runs_.empty()) return 0;
  for (const auto& [name, spans] : runs_.back().phases) {
    if (name != phase) continue;
    double sum_s = 0;
    for (const MeteredSpan& span : spans) sum_s += span.span.end_s - span.span.begin_s;
    return sum_s / static_cast<double>(spans.size());
  }
  return last_run_s();
}

std::string ProgramRuns::left_words() const {
  constexpr std::size_t most_named = 5;
  std::vector<std::string> living = shared_.left_behind.living(program_);
  if (living.empty()) return "";
  const std::size_t count = living.size();
  living.resize(std::min(count, most_named));
  return fmt::format("{}: {} processes that its runs left are alive: {}{}; --end-daemons ends them",
                     without_secrets(command_.text), count, fmt::join(living, ", "), count > most_named ? ", ..." : "");
}

std::vector<const ObservedRun*> ProgramRuns::sampled(const Series& series) const {
  std::vector<const ObservedRun*> kept;
  const std::size_t first =
      1 + series.warm_up_ms.size();  // The first run is a group of its own, as each of warm-up is.
  const auto repetitions = static_cast<std::size_t>(series.repetitions);
  for (std::size_t i = first; i < std::min(first + series.raw_ms.size(), ends_.size()); ++i) {
    for (std::size_t run = ends_[i] - std::min(repetitions, ends_[i]); run < ends_[i]; ++run)
      kept.push_back(&runs_[run]);
  }
  return kept;
}

}  // namespace assay
