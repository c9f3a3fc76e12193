#include "studies/fleet/outliers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>

#include "base/units.h"
#include "results/identity.h"
#include "statistics/outliers.h"
#include "statistics/statistics.h"

namespace assay {
namespace {

constexpr std::size_t fewest_machines = 3;

// ---- what machines are off by ----

/// The logarithm of each cell's median on a machine; of several runs the middle. What one build measured.
using CellTimes = std::map<std::string, double>;

/// Of any grade: a machine that others load gets no better one, and is what is looked for.
bool counts(const Record& record) {
  return record.outcome.status == Status::ok && record.latency->median_ms.value_or(0) > 0 && !is_altered(record);
}

CellTimes cell_times(const FleetMachine& machine) {
  std::map<std::string, std::vector<double>> logs;
  for (const FleetRecord& one : machine.records) {
    const Record& record = *one.record;
    if (counts(record))
      logs[subject_key(record) + record.setting.build].push_back(std::log(*record.latency->median_ms));
  }
  CellTimes times;
  for (const auto& [cell, values] : logs) times[cell] = median(values);
  return times;
}

/// What each machine of a kind is off by in each cell that three or more of them have.
std::vector<std::vector<double>> differences(const std::vector<CellTimes>& machines) {
  std::map<std::string, std::vector<double>> by_cell;
  for (const CellTimes& times : machines) {
    for (const auto& [cell, log_ms] : times) by_cell[cell].push_back(log_ms);
  }
  std::vector<std::vector<double>> all(machines.size());
  for (std::size_t m = 0; m < machines.size(); ++m) {
    for (const auto& [cell, log_ms] : machines[m]) {
      const std::vector<double>& together = by_cell[cell];
      if (together.size() >= fewest_machines) all[m].push_back(log_ms - median(together));
    }
  }
  return all;
}

/// The median of the means of all pairs, each value with itself included (Hodges & Lehmann 1963).
double middle_of(const std::vector<double>& values) {
  std::vector<double> means;
  means.reserve(values.size() * (values.size() + 1) / 2);
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (std::size_t j = i; j < values.size(); ++j) means.push_back((values[i] + values[j]) / 2);
  }
  return median(means);
}

// ---- evidence ----

using MachineFigure = std::function<std::optional<double>(const FleetRecord& one)>;

/// A recorded fact that can make a machine slow.
struct Suspect {
  const char* words;  ///< "{own} and {others}"
  const char* unit;
  MachineFigure figure;
  bool slows_when_more;  ///< Else when less.
  double least_change;   ///< Of the figure: a share of the others' where that is above 0, ...
  double least_step;     ///< ... and by itself.
  double scale = 1;      ///< Of what is shown.
};

template <typename Part, typename T>
MachineFigure recorded(OptionalPart<Part> Record::*part, std::optional<T> Part::*member) {
  return [=](const FleetRecord& one) -> std::optional<double> {
    const std::optional<T>& value = (*(one.record->*part)).*member;
    if (!value) return {};
    return static_cast<double>(*value);
  };
}

const std::vector<Suspect>& suspects() {
  static const std::vector<Suspect> all = {
      {"the processor's clock after the timed windows", "MHz",
       recorded(&Record::circumstances, &Circumstances::frequency_after_mhz), false, 0.03, 0},
      {"temperature", "degrees C", recorded(&Record::circumstances, &Circumstances::temperature_after_c), true, 0.1, 5},
      {"foreign load, processors", "", recorded(&Record::circumstances, &Circumstances::foreign_load), true, 0.5, 0.1},
      {"time stolen by the hypervisor", "%", recorded(&Record::circumstances, &Circumstances::stolen_share), true, 0.5,
       0.01, 100},
      {"major page faults", "", recorded(&Record::circumstances, &Circumstances::major_page_faults), true, 1, 10},
      {"rate of reading memory", "GB/s",
       [](const FleetRecord& one) { return one.record->evidence.bandwidth_bytes_per_s; }, false, 0.05, 0, 1e-9},
      {"peak rate of its instructions", "GFLOP/s",
       [](const FleetRecord& one) { return one.record->evidence.instruction_peak_gflops; }, false, 0.03, 0},
  };
  return all;
}

/// Facts of a machine that no record has.
struct SuspectFact {
  const char* words;
  const char* key;
};
constexpr SuspectFact suspect_facts[] = {{"kernel", "kernel"},
                                         {"system", "operating_system"},
                                         {"hypervisor", "hypervisor"},
                                         {"memory", "memory_bytes"},
                                         {"caches", "caches"}};

std::optional<double> outlier_figure(const Suspect& suspect, const FleetMachine& machine) {
  std::vector<double> values;
  for (const FleetRecord& one : machine.records) {
    const auto value = suspect.figure(one);
    if (value) values.push_back(*value);
  }
  if (values.empty()) return {};
  return median(values);
}

/// Whether it is so far on the slow side of all others that it may be the cause.
bool is_telling(const Suspect& suspect, double own, const std::vector<double>& others) {
  const double middle = median(others);
  const double sign = suspect.slows_when_more ? 1 : -1;
  const bool is_beyond_all =
      std::all_of(others.begin(), others.end(), [&](double other) { return sign * (own - other) > 0; });
  const double change = sign * (own - middle);
  return is_beyond_all && change >= suspect.least_step && change >= suspect.least_change * std::abs(middle);
}

std::string unit_behind(const Suspect& suspect) {
  return *suspect.unit == '\0' ? "" : std::string(" ") + suspect.unit;
}

std::vector<std::string> evidence_of(const FleetMachine& machine, const std::vector<const FleetMachine*>& others) {
  std::vector<std::string> texts;
  for (const Suspect& suspect : suspects()) {
    const auto own = outlier_figure(suspect, machine);
    std::vector<double> values;
    for (const FleetMachine* other : others) {
      if (const auto value = outlier_figure(suspect, *other)) values.push_back(*value);
    }
    if (!own || values.empty() || !is_telling(suspect, *own, values)) continue;
    texts.push_back(fmt::format("{}: {}{}, on the others {}", suspect.words, format_significant(*own * suspect.scale),
                                unit_behind(suspect), format_significant(median(values) * suspect.scale)));
  }
  for (const SuspectFact& fact : suspect_facts) {
    const Json own = machine.facts->value(fact.key, Json());
    const bool is_alone = std::all_of(others.begin(), others.end(), [&](const FleetMachine* other) {
      return other->facts->value(fact.key, Json()) != own &&
             other->facts->value(fact.key, Json()) == others.front()->facts->value(fact.key, Json());
    });
    if (!is_alone || !own.is_primitive()) continue;
    texts.push_back(fmt::format("{}: {}, on the others {}", fact.words, own.dump(),
                                others.front()->facts->value(fact.key, Json()).dump()));
  }
  return texts;
}

// ---- a kind ----

std::vector<const FleetMachine*> all_but(const std::vector<MachineStanding>& standings, std::size_t one) {
  std::vector<const FleetMachine*> others;
  for (std::size_t other = 0; other < standings.size(); ++other) {
    if (other != one && !standings[other].stands_apart) others.push_back(standings[other].machine);
  }
  return others;
}

MachineStanding standing_of(const FleetMachine& machine, const std::vector<double>& cells, const Deviation& deviation,
                            double margin) {
  const auto [least, most] = std::minmax_element(cells.begin(), cells.end());
  return {.machine = &machine,
          .cells = cells.size(),
          .time_ratio = std::exp(deviation.value),
          .low = std::exp(deviation.interval.low),
          .high = std::exp(deviation.interval.high),
          .p = deviation.p,
          .least_ratio = std::exp(*least),
          .most_ratio = std::exp(*most),
          .stands_apart = deviation.stands_apart && std::abs(deviation.value) > std::log1p(margin)};
}

double spread_of_alike(const std::vector<double>& off, const std::vector<MachineStanding>& standings) {
  Welford spread;
  for (std::size_t i = 0; i < off.size(); ++i) {
    if (!standings[i].stands_apart) spread.add(off[i]);
  }
  return spread.standard_deviation();
}

void test_kind(FleetKind& kind, double margin, double level) {
  std::vector<CellTimes> times;
  times.reserve(kind.machines.size());
  for (const FleetMachine* machine : kind.machines) times.push_back(cell_times(*machine));
  const std::vector<std::vector<double>> cells = differences(times);
  std::vector<std::size_t> tested;
  std::vector<double> off;
  for (std::size_t m = 0; m < cells.size(); ++m) {
    if (cells[m].empty()) continue;
    tested.push_back(m);
    off.push_back(middle_of(cells[m]));
  }
  if (tested.size() < fewest_machines) {
    kind.untested = "no cell was measured on three of them: --every-machine measures all cells on each";
    return;
  }
  const std::vector<Deviation> all = deviations(off, level);
  for (std::size_t i = 0; i < tested.size(); ++i)
    kind.standings.push_back(standing_of(*kind.machines[tested[i]], cells[tested[i]], all[i], margin));
  kind.spread = spread_of_alike(off, kind.standings);
  for (std::size_t i = 0; i < tested.size(); ++i) {
    MachineStanding& standing = kind.standings[i];
    if (standing.stands_apart) standing.evidence = evidence_of(*standing.machine, all_but(kind.standings, i));
  }
}

std::vector<FleetKind> machine_kinds(const Fleet& fleet) {
  std::vector<FleetKind> kinds;
  for (const FleetMachine& machine : fleet.machines) {
    auto kind = std::find_if(kinds.begin(), kinds.end(), [&](const FleetKind& k) { return k.kind == machine.kind; });
    if (kind == kinds.end()) kind = kinds.insert(kinds.end(), FleetKind{.kind = machine.kind});
    kind->machines.push_back(&machine);
  }
  return kinds;
}

}  // namespace

std::vector<FleetKind> fleet_kinds(const Fleet& fleet, const FleetRequest& request) {
  std::vector<FleetKind> kinds = machine_kinds(fleet);
  const auto testable = std::count_if(kinds.begin(), kinds.end(),
                                      [](const FleetKind& kind) { return kind.machines.size() >= fewest_machines; });
  for (FleetKind& kind : kinds) {
    if (kind.machines.size() >= fewest_machines)
      test_kind(kind, request.margin, request.level / static_cast<double>(testable));
    else
      kind.untested = kind.machines.size() == 1 ? "there is one of them" : "of two that differ neither is the odd one";
  }
  return kinds;
}

}  // namespace assay
