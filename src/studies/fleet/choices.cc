#include "studies/fleet/choices.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "base/units.h"
#include "results/identity.h"
#include "results/record.h"

namespace assay {
namespace {

// ---- groups ----

bool is_of_shard(const FleetRecord& one) {
  return one.record->share->shard.has_value();
}

bool divided(const FleetMachine& machine) {
  return std::any_of(machine.records.begin(), machine.records.end(), is_of_shard);
}

std::vector<AnsweredCell> answers_of(const Fleet& fleet, const std::vector<const FleetMachine*>& machines,
                                     const MostLoss& most) {
  // A source a run: rows of one run are compared round by round. Machines of one run are of one kind.
  std::map<std::size_t, const FleetRun*> runs;
  for (const FleetMachine* machine : machines) {
    for (const FleetRecord& one : machine->records) runs[one.run] = &fleet.runs[one.run];
  }
  std::vector<VerdictSource> sources;
  sources.reserve(runs.size());
  for (const auto& [number, run] : runs) sources.push_back({run->records, run->findings});
  return best_rows(sources, most);
}

// ---- why ----

const Record* choice_row(const ChoosingGroup& group, const Record& like) {
  const Record* found = nullptr;
  for (const FleetMachine* machine : group.machines) {
    for (const FleetRecord& one : machine->records) {
      const bool is_it = !one.record->setting.engine && one.record->setting.precision == like.setting.precision &&
                         stand_together(one.record->setting, like.setting, Level::cell);
      if (is_it) found = one.record;
    }
  }
  return found;
}

/// What a precision ran in on both, where that is not the same.
void add_ran(const Record& here, const Record& there, const Disagreement& one, std::vector<std::string>& why) {
  const std::string a = what_ran(here);
  const std::string b = what_ran(there);
  if (a != b && !a.empty() && !b.empty())
    why.push_back(fmt::format("{} ran as {} on {}, as {} on {}", here.setting.precision, a, one.group->label, b,
                              one.other->label));
}

void add_status(const Record& best, const ChoosingGroup& elsewhere, std::vector<std::string>& why) {
  const Record* row = choice_row(elsewhere, best);
  if (row == nullptr)
    why.push_back(fmt::format("{} was not measured on {}", best.setting.precision, elsewhere.label));
  else if (row->outcome.status != Status::ok)
    why.push_back(fmt::format("{} on {}: {} ({})", best.setting.precision, elsewhere.label, name(row->outcome.status),
                              row->outcome.reason.value_or("no reason was given")));
}

/// Instruction sets that one of them has alone.
void add_instructions(const ChoosingGroup& has, const ChoosingGroup& lacks, std::vector<std::string>& why) {
  const std::vector<std::string> theirs = texts_among(*lacks.machines.front()->facts, "instruction_sets");
  std::vector<std::string> alone;
  for (const std::string& set : texts_among(*has.machines.front()->facts, "instruction_sets")) {
    if (std::find(theirs.begin(), theirs.end(), set) == theirs.end()) alone.push_back(set);
  }
  if (!alone.empty())
    why.push_back(fmt::format("{} has {}, {} has not", has.label, fmt::join(alone, ", "), lacks.label));
}

/// A figure of both that differs by a quarter or more.
void add_choice_figure(const char* what, const char* unit, std::optional<double> a, std::optional<double> b,
                       const Disagreement& one, std::vector<std::string>& why) {
  constexpr double least = 1.25;
  if (a.value_or(0) <= 0 || b.value_or(0) <= 0 || std::max(*a / *b, *b / *a) < least) return;
  why.push_back(fmt::format("{}: {} {} on {}, {} on {}", what, format_significant(*a), unit, one.group->label,
                            format_significant(*b), one.other->label));
}

std::optional<double> scaled_figure(const std::optional<double>& value, double scale) {
  if (!value) return {};
  return *value * scale;
}

/// The time of one precision over the other's.
std::optional<double> time_ratio(const Record* above, const Record* below) {
  if (above == nullptr || below == nullptr) return {};
  const auto a = above->latency->median_ms;
  const auto b = below->latency->median_ms;
  if (a.value_or(0) <= 0 || b.value_or(0) <= 0) return {};
  return *a / *b;
}

void add_rates(const Disagreement& one, std::vector<std::string>& why) {
  const Record* best_there = choice_row(*one.other, *one.best);
  const Record* other_here = choice_row(*one.group, *one.other_best);
  const std::string best = one.best->setting.precision;
  const std::string other = one.other_best->setting.precision;
  add_choice_figure(fmt::format("time of {} over that of {}", best, other).c_str(), "times",
                    time_ratio(one.best, other_here), time_ratio(best_there, one.other_best), one, why);
  if (best_there != nullptr) {
    add_ran(*one.best, *best_there, one, why);
    add_choice_figure(fmt::format("matrix products of {}", best).c_str(), "GFLOP/s",
                      one.best->evidence.matmul_peak_gflops, best_there->evidence.matmul_peak_gflops, one, why);
  }
  if (other_here != nullptr) add_ran(*other_here, *one.other_best, one, why);
  add_choice_figure("reading memory", "GB/s", scaled_figure(one.best->evidence.bandwidth_bytes_per_s, 1e-9),
                    scaled_figure(one.other_best->evidence.bandwidth_bytes_per_s, 1e-9), one, why);
  add_choice_figure("caches", "MB", scaled_figure(one.best->evidence.cache_bytes, 1e-6),
                    scaled_figure(one.other_best->evidence.cache_bytes, 1e-6), one, why);
}

std::vector<std::string> reasons(const Disagreement& one) {
  std::vector<std::string> why;
  add_status(*one.best, *one.other, why);
  add_status(*one.other_best, *one.group, why);
  add_instructions(*one.group, *one.other, why);
  add_instructions(*one.other, *one.group, why);
  add_rates(one, why);
  if (why.empty()) why.emplace_back("no recorded fact tells");
  return why;
}

// ---- who disagrees ----

struct Chosen {
  const ChoosingGroup* group;
  const AnsweredCell* cell;
  const AimAnswer* answer;
};

bool is_of(const AnsweredCell& a, const AnsweredCell& b) {
  if (a.over_batches != b.over_batches) return false;
  Setting setting = a.any->setting;
  if (a.over_batches) setting.batch = b.any->setting.batch;
  return stand_together(setting, b.any->setting, Level::cell);
}

bool allows(const AimAnswer& answer, const Record& other) {
  const auto is_it = [&](const Record* row) {
    return row->setting.precision == other.setting.precision && row->setting.batch == other.setting.batch;
  };
  return is_it(answer.best) || std::any_of(answer.as_good.begin(), answer.as_good.end(), is_it) ||
         std::any_of(answer.not_told.begin(), answer.not_told.end(), is_it);
}

bool is_said(const std::vector<Disagreement>& said, std::size_t first, const Chosen& a, const Chosen& b) {
  return std::any_of(said.begin() + static_cast<std::ptrdiff_t>(first), said.end(), [&](const Disagreement& one) {
    return one.best->setting.precision == a.answer->best->setting.precision &&
           one.other_best->setting.precision == b.answer->best->setting.precision;
  });
}

void compared_rows(const std::vector<Chosen>& chosen, std::vector<Disagreement>& said) {
  const std::size_t first = said.size();
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    for (std::size_t j = i + 1; j < chosen.size(); ++j) {
      const Chosen& a = chosen[i];
      const Chosen& b = chosen[j];
      if (allows(*a.answer, *b.answer->best) || allows(*b.answer, *a.answer->best) || is_said(said, first, a, b) ||
          is_said(said, first, b, a))
        continue;
      said.push_back({.cell = a.cell,
                      .aim = a.answer->aim,
                      .group = a.group,
                      .other = b.group,
                      .best = a.answer->best,
                      .other_best = b.answer->best});
      said.back().why = reasons(said.back());
    }
  }
}

/// What all groups chose for that aim of that cell.
std::vector<Chosen> chosen_by_aim(const std::vector<ChoosingGroup>& groups, const AnsweredCell& cell,
                                  const std::string& aim) {
  std::vector<Chosen> chosen;
  for (const ChoosingGroup& group : groups) {
    for (const AnsweredCell& own : group.cells) {
      if (!is_of(own, cell)) continue;
      for (const AimAnswer& answer : own.answers) {
        if (answer.aim == aim && answer.best != nullptr) chosen.push_back({&group, &own, &answer});
      }
    }
  }
  return chosen;
}

}  // namespace

std::vector<ChoosingGroup> choosing_groups(const Fleet& fleet, const MostLoss& most) {
  std::vector<ChoosingGroup> groups;
  std::map<std::string, std::size_t> divided_kinds;
  for (const FleetMachine& machine : fleet.machines) {
    const auto known = divided_kinds.find(machine.kind);
    if (divided(machine) && known != divided_kinds.end()) {
      groups[known->second].machines.push_back(&machine);
      continue;
    }
    if (divided(machine)) divided_kinds[machine.kind] = groups.size();
    groups.push_back({.label = machine.label, .machines = {&machine}});
  }
  for (ChoosingGroup& group : groups) {
    if (group.machines.size() > 1)
      group.label = fmt::format("{} machines ({})", group.machines.size(), group.machines.front()->kind);
    group.cells = answers_of(fleet, group.machines, most);
  }
  return groups;
}

std::vector<Disagreement> disagreements(const std::vector<ChoosingGroup>& groups) {
  std::vector<Disagreement> said;
  std::vector<const AnsweredCell*> seen;
  for (const ChoosingGroup& group : groups) {
    for (const AnsweredCell& cell : group.cells) {
      const bool is_seen =
          std::any_of(seen.begin(), seen.end(), [&](const AnsweredCell* other) { return is_of(*other, cell); });
      if (is_seen) continue;
      seen.push_back(&cell);
      for (const AimAnswer& answer : cell.answers) compared_rows(chosen_by_aim(groups, cell, answer.aim), said);
    }
  }
  return said;
}

}  // namespace assay
