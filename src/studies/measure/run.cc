#include "studies/measure/request.h"

#include <fmt/format.h>

#include <deque>

#include "measure/memory.h"
#include "rules/rules.h"
#include "studies/measure/record.h"
#include "studies/probe/run.h"
#include "tensor/precision.h"

namespace assay {
namespace {

/// "A", "B", ...
std::string label(std::size_t command) {
  return std::string(1, static_cast<char>('A' + command));
}

ChildOutput output_of(const MeasureRequest& request, const ProgramRuns& runs) {
  const bool shown = request.output == ShownOutput::all || (request.output == ShownOutput::first && runs.count() == 0);
  return shown ? ChildOutput::shown : ChildOutput::kept;
}

Subject program_subject(const std::string& name, const MeasureRequest& request, ProgramRuns& runs) {
  return {.name = name,
          .run = [&] { runs.run(output_of(request, runs)); },
          .read_result =
              [&] {
                runs.end_group();
                return 0.0;
              },
          .last_run_s = [&] { return runs.last_run_s(); }};
}

SamplingOptions sampling_options(const MeasureRequest& request, const Power& power, const StudyCallbacks& callbacks) {
  SamplingOptions options;
  options.seconds = request.seconds;
  options.width = request.width;
  options.rounds = request.rounds;
  options.seed = static_cast<std::uint64_t>(request.seed);
  options.root = request.energy.meters.root;
  options.interrupted = callbacks.interrupted;
  options.interrupted_window = InterruptedWindow::dropped;
  options.progress = [&callbacks](const SamplingProgress& p) {
    if (callbacks.progress) callbacks.progress(fmt::format("{}: {}", p.subject, p.phase), p.seconds_left);
  };
  meter_windows(request.energy, power, options);
  return options;
}

}  // namespace

Document measure_programs(const MeasureRequest& request, const FactsSource& facts_source,
                          const StudyCallbacks& callbacks) {
  find_precision(request.claims);
  const MachineFacts facts = facts_source();
  Power power = find_power(request.energy);
  LeftBehind left_behind(request.daemons);
  reset_peak_memory();
  const ProgramRuns::Surroundings shared{power.source.meter.get(), callbacks.interrupted, left_behind};
  std::deque<ProgramRuns> runs;
  std::vector<Subject> subjects;
  for (const ChildCommand& command : request.commands) {
    runs.emplace_back(command, subjects.size(), shared);
    subjects.push_back(program_subject(label(subjects.size()), request, runs.back()));
  }
  const std::vector<Series> series = sample(subjects, sampling_options(request, power, callbacks));
  left_behind.settle();
  read_idle_again(power, callbacks.interrupted);
  Document document;
  document.machine = machine_json(facts);
  for (std::size_t i = 0; i < series.size(); ++i) {
    const MeasuredProgram program{request, facts, power, series[0], series[i], runs[i]};
    const Record whole = program_record(program);
    document.records.push_back(whole);
    for (Record& phase : phase_records(program, whole)) document.records.push_back(std::move(phase));
    for (const std::string& said : {marker_faults(program), runs[i].left_words()}) {
      if (!said.empty() && callbacks.say) callbacks.say(said);
    }
  }
  document = judged(std::move(document));
  if (callbacks.keep) callbacks.keep(document.records);
  return document;
}

}  // namespace assay
