#include "studies/shared/shard.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <utility>

#include "base/error.h"
#include "studies/shared/launched.h"

namespace assay {
namespace {

void expect_disjoint_and_complete(const GridSize& size, std::int64_t count) {
  const std::string what = fmt::format("{} cells of {} rows in {} shards", size.cells, size.rows_a_cell, count);
  std::map<std::pair<std::int64_t, std::int64_t>, int> held;
  std::map<std::int64_t, int> owners;
  for (std::int64_t index = 1; index <= count; ++index) {
    const ShardPart part = part_of({index, count}, size);
    EXPECT_EQ(part.is_empty(), index > part.shard.count) << what;
    if (part.is_empty()) continue;
    for (std::int64_t cell = part.cells.first; cell < part.cells.end; ++cell) {
      owners[cell] += part.owns_baselines() ? 1 : 0;
      for (std::int64_t row = part.rows.first; row < part.rows.end; ++row) ++held[{cell, row}];
    }
  }
  EXPECT_EQ(held.size(), static_cast<std::size_t>(size.cells * size.rows_a_cell)) << what;
  for (const auto& [place, times] : held) EXPECT_EQ(times, 1) << what << ": " << place.first << ", " << place.second;
  for (const auto& [cell, times] : owners) EXPECT_EQ(times, 1) << what << ": the baseline of cell " << cell;
}

TEST(Shard, PartsAreDisjointAndComplete) {
  for (std::int64_t cells = 1; cells <= 7; ++cells) {
    for (std::int64_t rows = 1; rows <= 5; ++rows) {
      for (std::int64_t count = 1; count <= cells * rows + 3; ++count)
        expect_disjoint_and_complete({cells, rows}, count);
    }
  }
}

TEST(Shard, CellsStayWholeWhereThereAreEnough) {
  for (std::int64_t count = 1; count <= 6; ++count) {
    for (std::int64_t index = 1; index <= count; ++index) {
      const ShardPart part = part_of({index, count}, {6, 4});
      EXPECT_EQ(part.rows.end - part.rows.first, 4);
      EXPECT_LE(part.cells.end - part.cells.first, (6 + count - 1) / count) << "shares differ by one cell at most";
    }
  }
}

TEST(Shard, TextIsReadBack) {
  EXPECT_EQ(to_text(*parse_shard("2/4")), "2/4");
  for (const char* text : {"", "2", "0/4", "5/4", "2/", "/4", "-1/4", "2/4x", "2.0/4", "1/9999999999"})
    EXPECT_FALSE(parse_shard(text)) << text;
}

TEST(Shard, RecordsKnowHowManyShardsHoldSomething) {
  GridDivision division{.part = Shard{2, 9}, .grid = "assay bench gpt2"};
  EXPECT_FALSE(take_part(division, {.cells = 3, .rows_a_cell = 2}).is_empty());
  Record record;
  mark_share(division, record);
  EXPECT_EQ(record.share->shard, "2/6");
  EXPECT_EQ(record.share->grid, "assay bench gpt2");
  Record whole;
  mark_share({}, whole);
  EXPECT_FALSE(whole.share);
}

using Variables = std::map<std::string, std::string>;

Surroundings surroundings_of(const Variables& variables) {
  return [variables](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}

std::string launched_as(const Variables& variables) {
  try {
    return to_text(shard_of(surroundings_of(variables)));
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ExitCode::user);
    return e.what();
  }
}

TEST(Launched, SlurmAndMpiNumberTheirProcesses) {
  Variables array = {{"SLURM_ARRAY_TASK_ID", "14"},  {"SLURM_ARRAY_TASK_MIN", "10"},  {"SLURM_ARRAY_TASK_MAX", "16"},
                     {"SLURM_ARRAY_TASK_STEP", "2"}, {"SLURM_ARRAY_TASK_COUNT", "4"}, {"SLURM_PROCID", "0"},
                     {"SLURM_NTASKS", "1"}};
  EXPECT_EQ(launched_as(array), "3/4");
  array["SLURM_STEP_ID"] = "0";
  array["SLURM_STEP_NUM_TASKS"] = "1";
  EXPECT_EQ(launched_as(array), "3/4") << "one task of a step in each";
  Variables step = {{"SLURM_PROCID", "1"}, {"SLURM_STEP_ID", "0"}, {"SLURM_STEP_NUM_TASKS", "3"}};
  EXPECT_EQ(launched_as(step), "2/3");
  step["OMPI_COMM_WORLD_RANK"] = "4";
  step["OMPI_COMM_WORLD_SIZE"] = "6";
  EXPECT_EQ(launched_as(step), "5/6") << "mpirun started it, inside of the step";
}

TEST(Launched, WhatDoesNotTellIsRefusedByName) {
  const auto expect = [](const Variables& variables, std::initializer_list<const char*> names) {
    const std::string said = launched_as(variables);
    for (const char* name : names) EXPECT_NE(said.find(name), std::string::npos) << said << " lacks " << name;
    EXPECT_EQ(said.find('\n'), std::string::npos);
  };
  expect({}, {"none of", "SLURM_ARRAY_TASK_ID", "OMPI_COMM_WORLD_RANK"});
  expect({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}}, {"SLURM_NTASKS=4", "batch script", "srun"});
  expect({{"OMPI_COMM_WORLD_RANK", "4"}, {"OMPI_COMM_WORLD_SIZE", "4"}}, {"OMPI_COMM_WORLD_RANK=4", "SIZE=4"});
  expect({{"OMPI_COMM_WORLD_RANK", "1"}}, {"OMPI_COMM_WORLD_SIZE", "is not"});
  expect({{"SLURM_ARRAY_TASK_ID", "x"}}, {"SLURM_ARRAY_TASK_ID=x", "no number"});
  const Variables gaps = {{"SLURM_ARRAY_TASK_ID", "5"},
                          {"SLURM_ARRAY_TASK_MIN", "1"},
                          {"SLURM_ARRAY_TASK_MAX", "9"},
                          {"SLURM_ARRAY_TASK_COUNT", "3"}};
  expect(gaps, {"SLURM_ARRAY_TASK_COUNT=3", "gaps"});
  const Variables both = {{"SLURM_ARRAY_TASK_ID", "1"}, {"SLURM_ARRAY_TASK_MIN", "0"}, {"SLURM_ARRAY_TASK_COUNT", "2"},
                          {"SLURM_STEP_ID", "0"},       {"SLURM_PROCID", "1"},         {"SLURM_STEP_NUM_TASKS", "2"}};
  expect(both, {"SLURM_ARRAY_TASK_COUNT=2", "SLURM_STEP_NUM_TASKS=2", "both"});
}

}  // namespace
}  // namespace assay
