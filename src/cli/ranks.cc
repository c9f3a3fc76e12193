#include "cli/ranks.h"

#include <map>

#include "base/error.h"
#include "processes/launch.h"

namespace assay {
namespace {

/// Whether this rank is the one that tells.
bool tells(const Group& group, const RankLost& lost) {
  return group.rank() == (lost.rank == 0 ? 1 : 0);
}

int as_launched_rank(Group& group, const std::function<int(Group&)>& work) {
  try {
    return work(group);
  } catch (const SharedError& error) {
    if (group.rank() == 0) throw;
    return static_cast<int>(error.code());
  } catch (const RankLost& lost) {
    group.leave(fmt::format("ended: {}", lost.what()));
    if (tells(group, lost)) throw;
    return static_cast<int>(lost.code());
  } catch (const std::exception& error) {
    group.leave(fmt::format("ended: {}", error.what()));
    throw;
  }
}

}  // namespace

void add_rank_options(CLI::App& command, TrainRequest& request) {
  static const std::map<std::string, ReduceBy> ways = {{"direct", ReduceBy::direct}, {"library", ReduceBy::library}};
  static const std::map<std::string, ZeroStage> stages = {
      {"0", ZeroStage::none}, {"1", ZeroStage::optimizer}, {"2", ZeroStage::gradients}};
  command.add_option_function<std::string>(
      "--reduce", [&request](const std::string& name) { request.reduce.format = find_reduce_format(name); },
      "ranks: how gradients travel and are summed: f32 (default), bf16, bf16-f32sum, f16, f16-f32sum");
  add_choice(command, "--reduce-by", request.reduce.by, ways, "ranks: who sums (default direct: in rank order)");
  command
      .add_option_function<std::int64_t>(
          "--bucket", [&request](std::int64_t megabytes) { request.reduce.bucket_bytes = megabytes << 20; },
          "ranks: MiB of gradients that travel together (default 25)")
      ->check(CLI::Range(1, 1 << 10));
  add_choice(command, "--zero", request.training.sharding.stage, stages,
             "ranks: each keeps a share of 1: the optimizer's state, 2: and of the gradients (default 0)");
  command
      .add_option("--check-every", request.check_every,
                  "ranks: steps between two comparisons of weights (default 100; 0: none)")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 40));
}

void add_thread_ranks_option(CLI::App& command, int& ranks) {
  command.add_option("--ranks", ranks, "train as so many ranks, threads of this process (mpirun makes processes)")
      ->check(CLI::Range(1, 1 << 10));
}

int as_rank(int thread_ranks, const std::function<int(Group&)>& work) {
  const std::unique_ptr<Group> group = launched_group();
  if (group->size() == 1) return work(*group);
  return as_launched_rank(*group, [&](Group& launched) {
    agreed(launched, [&] {
      if (thread_ranks > 1) fail_user("--ranks: the launcher has made {} ranks; drop the option", launched.size());
    });
    return work(launched);
  });
}

}  // namespace assay
