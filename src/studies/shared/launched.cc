#include "studies/shared/launched.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/error.h"

namespace assay {
namespace {

/// A variable's whole number; absent where it is not set.
std::optional<std::int64_t> number_in(const Surroundings& surroundings, const char* name) {
  const auto text = surroundings(name);
  if (!text) return {};
  if (text->empty() || text->size() > 9 || text->find_first_not_of("0123456789") != std::string::npos)
    fail_user("{}={} is no number; give --shard I/N", name, *text);
  return std::stoll(*text);
}

std::int64_t needed_number(const Surroundings& surroundings, const char* name, const char* beside) {
  const auto number = number_in(surroundings, name);
  if (!number) fail_user("--shard auto: {} is set, and {} is not; give --shard I/N", beside, name);
  return *number;
}

/// What one launcher says.
struct Launched {
  const char* index_name;
  const char* count_name;
  Shard shard;
};

/// Of an array without gaps: MIN, MIN + STEP, ... MAX.
std::optional<Launched> array_task(const Surroundings& surroundings) {
  constexpr const char* id_name = "SLURM_ARRAY_TASK_ID";
  constexpr const char* count_name = "SLURM_ARRAY_TASK_COUNT";
  const auto id = number_in(surroundings, id_name);
  if (!id) return {};
  const std::int64_t first = needed_number(surroundings, "SLURM_ARRAY_TASK_MIN", id_name);
  const std::int64_t count = needed_number(surroundings, count_name, id_name);
  const std::int64_t step = std::max<std::int64_t>(number_in(surroundings, "SLURM_ARRAY_TASK_STEP").value_or(1), 1);
  const std::int64_t last = number_in(surroundings, "SLURM_ARRAY_TASK_MAX").value_or(first + (count - 1) * step);
  const bool has_gaps = last != first + (count - 1) * step || *id < first || *id > last || (*id - first) % step != 0;
  if (has_gaps)
    fail_user(
        "--shard auto: SLURM_ARRAY_TASK_ID={} of SLURM_ARRAY_TASK_MIN={}, SLURM_ARRAY_TASK_MAX={}, "
        "SLURM_ARRAY_TASK_STEP={}, SLURM_ARRAY_TASK_COUNT={} is an array with gaps; give --shard I/N",
        *id, first, last, step, count);
  return Launched{id_name, count_name, {(*id - first) / step + 1, count}};
}

Launched ranked(const Surroundings& surroundings, const char* rank_name, const char* count_name) {
  const std::int64_t rank = needed_number(surroundings, rank_name, count_name);
  const std::int64_t count = needed_number(surroundings, count_name, rank_name);
  if (rank >= count)
    fail_user("--shard auto: {}={} is none of {}={}; give --shard I/N", rank_name, rank, count_name, count);
  return {rank_name, count_name, {rank + 1, count}};
}

/// mpirun starts its processes inside of an allocation, whose own variables they still have.
std::optional<Launched> step_task(const Surroundings& surroundings) {
  for (const auto& [rank_name, count_name] :
       {std::pair("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"), std::pair("SLURM_PROCID", "SLURM_STEP_NUM_TASKS")}) {
    const bool is_step = std::string_view(rank_name) != "SLURM_PROCID" || surroundings("SLURM_STEP_ID");
    if (is_step && (surroundings(rank_name) || surroundings(count_name)))
      return ranked(surroundings, rank_name, count_name);
  }
  return {};
}

[[noreturn]] void fail_without_step(const Surroundings& surroundings) {
  if (!surroundings("SLURM_PROCID"))
    fail_user(
        "--shard auto: none of SLURM_ARRAY_TASK_ID, SLURM_PROCID and OMPI_COMM_WORLD_RANK is set; give --shard I/N");
  fail_user(
      "--shard auto: SLURM_PROCID={} and SLURM_NTASKS={}, and SLURM_STEP_ID is not set: this is a batch script and no "
      "task of a step; start it with srun, or give --shard I/N",
      surroundings("SLURM_PROCID").value_or(""), surroundings("SLURM_NTASKS").value_or("(not set)"));
}

}  // namespace

Shard shard_of(const Surroundings& surroundings) {
  const auto array = array_task(surroundings);
  const auto step = step_task(surroundings);
  if (array && step && array->shard.count > 1 && step->shard.count > 1)
    fail_user("--shard auto: {}={} and {}={} both divide; give --shard I/N", array->count_name, array->shard.count,
              step->count_name, step->shard.count);
  if (array && (!step || step->shard.count == 1)) return array->shard;
  if (step) return step->shard;
  fail_without_step(surroundings);
}

std::optional<LocalRank> local_rank(const Surroundings& surroundings) {
  // Slurm's last: within an allocation it numbers what launchers start on each node to start their ranks.
  for (const char* name : {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"}) {
    if (const auto number = number_in(surroundings, name)) return LocalRank{name, *number};
  }
  return {};
}

}  // namespace assay
