#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "results/identity.h"
#include "studies/fleet/machines.h"
#include "studies/shared/shard.h"

namespace assay {
namespace {

/// What the stores have of one grid that is divided into so many shards, or that every machine measures (no shards).
struct GridState {
  struct Held {
    std::set<std::string> rows;                    ///< By subject; baselines of other shards are none.
    std::map<std::string, std::string> open_runs;  ///< Commands of runs that did not end, and when they began.
    std::map<std::string, std::string> done_runs;  ///< Of each command the last run that did.
    std::string machine;
  };
  std::map<std::int64_t, Held> shards;
  std::map<std::string, Held> machines;
};
using GridKey = std::pair<std::string, std::int64_t>;  ///< The grid's command; how many shards, 0: none.

void add_missing_run(const StoredRun& run, GridState::Held& held) {
  std::string& started = (run.ended ? held.done_runs : held.open_runs)[run.command];
  started = std::max(started, run.started);
}

void add_missing(const FleetRecord& one, const FleetRun& run, const FleetMachine& machine, GridState::Held& held) {
  const Record& record = *one.record;
  held.machine = machine.label;
  add_missing_run(run.run, held);
  if (!record.share->compared_only.value_or(false)) held.rows.insert(subject_key(record));
}

std::map<GridKey, GridState> grids_of(const Fleet& fleet) {
  std::map<GridKey, GridState> grids;
  for (const FleetMachine& machine : fleet.machines) {
    for (const FleetRecord& one : machine.records) {
      const GridShare& share = *one.record->share;
      if (!share.grid) continue;
      const std::optional<Shard> shard = parse_shard(share.shard.value_or(""));
      GridState& grid = grids[{*share.grid, shard ? shard->count : 0}];
      add_missing(one, fleet.runs[one.run], machine, shard ? grid.shards[shard->index] : grid.machines[machine.label]);
    }
  }
  return grids;
}

/// Whether a run of it did not end, and the same command was not run to its end later. Resumed runs are the same run.
bool is_unfinished(const GridState::Held& held) {
  return std::any_of(held.open_runs.begin(), held.open_runs.end(), [&](const auto& open) {
    return std::none_of(held.done_runs.begin(), held.done_runs.end(),
                        [&](const auto& done) { return done.second > open.second; });
  });
}

/// Of commands that can go on where they stopped.
std::string resuming(const std::string& grid) {
  const bool generates = grid.find(" --generate") != std::string::npos;
  const bool goes_on = (grid.starts_with("assay bench ") && !generates) || grid.starts_with("assay study ");
  return goes_on ? " --resume" : "";
}

void add_missing_shards(const GridKey& key, const GridState& grid, std::vector<MissingPart>& missing) {
  const auto& [command, count] = key;
  for (std::int64_t index = 1; index <= count; ++index) {
    const std::string shard = to_text(Shard{index, count});
    MissingPart part{.grid = command, .part = "shard " + shard, .command = command + " --shard " + shard};
    const auto held = grid.shards.find(index);
    if (held == grid.shards.end()) {
      part.why = "there is no record of it";
    } else if (is_unfinished(held->second)) {
      part.why = "it was ended before it was done, or still runs";
      part.machine = held->second.machine;
      part.command += resuming(command);
    } else {
      continue;
    }
    missing.push_back(std::move(part));
  }
}

void add_missing_rows(const GridKey& key, const GridState& grid, std::vector<MissingPart>& missing) {
  std::set<std::string> all;
  for (const auto& [machine, held] : grid.machines) all.insert(held.rows.begin(), held.rows.end());
  for (const auto& [machine, held] : grid.machines) {
    const bool is_open = is_unfinished(held);
    const std::size_t lacking = all.size() - held.rows.size();
    if (lacking == 0 && !is_open) continue;
    missing.push_back(
        {.grid = key.first,
         .part = lacking > 0 ? fmt::format("{} of {} rows", lacking, all.size()) : std::string("quality or rows"),
         .machine = machine,
         .why = is_open ? "it was ended before it was done, or still runs" : "other machines have them",
         .command = key.first + " --every-machine" + (is_open ? resuming(key.first) : "")});
  }
}

}  // namespace

std::vector<MissingPart> missing_parts(const Fleet& fleet) {
  std::vector<MissingPart> missing;
  for (const auto& [key, grid] : grids_of(fleet)) {
    if (key.second > 0)
      add_missing_shards(key, grid, missing);
    else
      add_missing_rows(key, grid, missing);
  }
  return missing;
}

}  // namespace assay
