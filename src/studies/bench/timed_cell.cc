#include "studies/bench/timed_cell.h"

#include <fmt/format.h>

#include "base/interrupt.h"
#include "results/identity.h"
#include "studies/bench/engines.h"
#include "studies/shared/random_ids.h"

namespace assay {
namespace {

PlanOptions plan_options(const BenchGroup& group, const TimedCell& cell) {
  if (!cell.is_of_data()) return {.extent = cell.inputs.extent, .graphs = group.request().engine.graphs};
  const QualityBatch& longest = cell.inputs.batches.front();
  return {.extent = longest.extent,
          .mask = longest.mask.empty() ? AttentionMask::absent : AttentionMask::given,
          .graphs = group.request().engine.graphs};
}

void make_random_batch(const BenchGroup& group, Extent extent, TimedCell& cell) {
  if (!cell.batches().empty()) return;
  const IdStream stream{group.request().model_options.seed, IdsFor::timing};
  cell.random.push_back({extent, random_ids(group.model(), extent, stream), {}, {}});
}

/// Behind all passes, as contenders of other programs stand behind ours.
void plan_engine(const BenchGroup& group, const BenchGroup::Member& member, TimedCell& cell,
                 std::vector<Record>& records) {
  Record& record = records.back();
  if (record.outcome.status != Status::ok || is_set(group.callbacks().interrupted)) return;
  make_random_batch(group, cell.inputs.extent, cell);
  auto engine = timed_engine(group, member.contender, cell.batches());
  if (!engine->prepare(record)) return;
  cell.subjects.push_back(engine->subject(row_name(record.setting)));
  cell.engines.push_back(std::move(engine));
  cell.engine_places.push_back(records.size() - 1);
}

}  // namespace

void plan_cell(BenchGroup& group, TimedCell& cell, std::vector<Record>& records) {
  std::int64_t arenas = 0;
  PlanOptions options = plan_options(group, cell);
  std::vector<Record> rows = group.blanks(cell.inputs);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    BenchGroup::Member& member = group.members()[i];
    records.push_back(std::move(rows[i]));
    Record& record = records.back();
    const bool is_own = member.contender.engine.empty();
    if (group.callbacks().progress)
      group.callbacks().progress(
          fmt::format("{} {}: {}", group.shown_name(), row_name(record.setting), is_own ? "plan and pack" : "prepare"),
          0);
    if (!is_own) {
      plan_engine(group, member, cell, records);
      continue;
    }
    options.free_bytes = group.free_bytes(arenas);
    auto plan = group.make_plan(member, options, record);
    if (!plan) continue;
    arenas += plan->arena_bytes();
    make_random_batch(group, options.extent, cell);
    cell.passes.push_back(std::make_unique<TimedPass>(std::move(plan), *member.instance, cell.batches()));
    cell.subjects.push_back(cell.passes.back()->subject(record.setting.precision));
    cell.members.push_back(&member);
    cell.places.push_back(records.size() - 1);
  }
}

std::vector<std::size_t> TimedCell::all_places() const {
  std::vector<std::size_t> all = places;
  all.insert(all.end(), engine_places.begin(), engine_places.end());
  return all;
}

CellStart start_of(const BenchGroup& group, const TimedCell& cell, const SamplingStart& sampling,
                   const std::vector<Record>& records) {
  CellStart start{.start_s = sampling.first_runs_s,
                  .round_s = sampling.round_s,
                  .budget_s = group.request().seconds * static_cast<double>(cell.subjects.size())};
  std::int64_t arenas = 0;
  for (const std::size_t place : cell.places) start.start_s += records[place].latency->prepare_ms.value_or(0) * 1e-3;
  for (const auto& pass : cell.passes) arenas += pass->own_bytes();
  const std::optional<std::int64_t> free = group.free_bytes(arenas);
  start.fits_twice = !free || *free >= group.held_bytes() + arenas;
  return start;
}

double least_round_s(const TimedCell& cell, const std::vector<Record>& records) {
  double ms = 0;
  for (const std::size_t place : cell.places) ms += records[place].evidence.matmul_ms.value_or(0);
  return 1e-3 * ms;
}

}  // namespace assay
