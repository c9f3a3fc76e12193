#pragma once

#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/interrupt.h"
#include "measure/child.h"
#include "measure/energy.h"
#include "measure/energy_track.h"
#include "measure/markers.h"
#include "measure/sampling.h"

namespace assay {

/// One time through a phase, and the joules of it where a meter was looked at meanwhile.
struct MeteredSpan {
  PhaseSpan span;
  double joules = 0;
  double uncertainty_j = 0;
};

/// One run of a program, with its phases.
struct ObservedRun {
  ChildRun child;
  std::vector<std::pair<std::string, std::vector<MeteredSpan>>> phases;
  std::int64_t marker_faults = 0;
  std::string first_marker_fault;
};

/// What all runs of one program were. The sampler asks for runs by `run` and ends each group of them by `end_group`:
/// first run, warm-up runs, windows with their lead-in.
class ProgramRuns {
 public:
  /// What the runs of all programs share.
  struct Surroundings {
    EnergyMeter* meter;
    InterruptFlag interrupted;
    LeftBehind& left_behind;
  };
  /// `program`: its place among them.
  ProgramRuns(const ChildCommand& command, std::size_t program, const Surroundings& shared)
      : command_(command), program_(program), shared_(shared) {}

  /// Throws a user error where the program fails; what it said has then been printed to stderr.
  void run(ChildOutput output);
  void end_group() { ends_.push_back(runs_.size()); }

  /// The runs behind the samples of that series.
  std::vector<const ObservedRun*> sampled(const Series& series) const;
  std::size_t count() const { return runs_.size(); }
  double last_run_s() const { return runs_.back().child.wall_s; }
  /// The mean time through that phase in the last run; of the whole run where it marked none. 0 before any run.
  double last_s(const std::string& phase) const;
  const std::deque<ObservedRun>& all() const { return runs_; }
  LeftCounts left() const { return shared_.left_behind.counts(program_); }
  /// A sentence where processes live on that these runs left; else empty.
  std::string left_words() const;
  const ChildCommand& command() const { return command_; }

 private:
  void keep_phases(const MarkerReader& markers, const EnergyTrack& track, ObservedRun& run) const;

  const ChildCommand& command_;
  std::size_t program_;
  Surroundings shared_;
  std::deque<ObservedRun> runs_;
  std::vector<std::size_t> ends_;
};

}  // namespace assay
