#include "cli/ranks.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>

#include "base/error.h"
#include "base/streams.h"
#include "cli/origin.h"
#include "cli/other_names.h"
#include "cli/shard_options.h"
#include "kernels/gpu_bus_id.h"
#include "processes/launch.h"
#include "studies/shared/own_gpu.h"
#include "studies/train/ranks.h"
#include "training/step.h"

namespace assay {
namespace {

constexpr const char* cuda_device = "cuda";

/// Whether this rank is the one that tells.
bool tells(const Group& group, const RankLost& lost) {
  return group.rank() == (lost.ending.rank == 0 ? 1 : 0);
}

/// mpirun ends all where one has ended: the one that tells comes first.
void let_it_tell() {
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
}

void check_same_task(Group& group, const std::string& task) {
  const std::vector<std::string> all = all_gather(group, task);
  const auto other = std::ranges::find_if(all, [&](const std::string& one) { return one != all.front(); });
  if (other == all.end()) return;
  throw SharedError(ExitCode::user, fmt::format("rank {}: was started for {}, rank 0 for {}: all ranks need the same",
                                                other - all.begin(), *other, all.front()));
}

}  // namespace

int as_rank_of(Group& group, const std::string& task, const std::function<int(Group&)>& work) {
  try {
    check_same_task(group, task);
    return work(group);
  } catch (const SharedError& error) {
    if (group.rank() == 0) throw;
    return static_cast<int>(error.code());
  } catch (const Diverged& error) {  // All ranks see the same sums.
    if (group.rank() == 0) throw;
    return static_cast<int>(error.code());
  } catch (const RankLost& lost) {
    group.leave(lost.ending);
    if (tells(group, lost)) throw;
    let_it_tell();
    return static_cast<int>(lost.code());
  } catch (const std::exception& error) {
    group.leave({group.rank(), fmt::format("ended: {}", error.what())});
    throw;
  }
}

MachineFacts facts_of_rank(Group& group, const MachineOptions& machine, const std::string& device) {
  MachineFacts facts;
  agreed(group, [&] { facts = facts_for(machine, device); });
  if (device != cuda_device || group.is_one_process()) return facts;
  const std::string shared = shared_gpu(group, gpu_bus_id());
  if (!shared.empty() && group.rank() == 0) tell(fmt::format("{}: their steps wait for each other\n", shared));
  return facts;
}

std::string task_of_command(const CLI::App& command) {
  std::vector<std::string> words = command_words();
  words.erase(words.begin());
  return "assay " + shell_line(grid_words(with_own_names(*command.get_parent(), std::move(words)), command));
}

void add_reduce_list(CLI::App& command, std::vector<ReduceFormat>& formats) {
  command
      .add_option_function<std::vector<std::string>>(
          "--reduce",
          [&formats](const std::vector<std::string>& names) {
            for (const std::string& name : names) formats.push_back(find_reduce_format(name));
          },
          "ranks: how gradients are summed, comma-separated: f32, bf16, bf16-f32sum, f16, f16-f32sum")
      ->delimiter(',');
}

void add_reduce_by(CLI::App& command, ReduceBy& by) {
  static const std::map<std::string, ReduceBy> ways = {{"direct", ReduceBy::direct}, {"library", ReduceBy::library}};
  add_choice(command, "--reduce-by", by, ways, "ranks: who sums (default direct: in rank order)");
}

void add_zero(CLI::App& command, ZeroStage& stage) {
  static const std::map<std::string, ZeroStage> stages = {
      {"0", ZeroStage::none}, {"1", ZeroStage::optimizer}, {"2", ZeroStage::gradients}};
  add_choice(command, "--zero", stage, stages,
             "ranks: each keeps a share of 1: the optimizer's state, 2: and of the gradients (default 0)");
}

void refuse_rank_options(const CLI::App& command) {
  for (const char* name : {"--reduce", "--reduce-by", "--bucket", "--zero", "--check-every"}) {
    const CLI::Option* const option = command.get_option_no_throw(name);
    if (option != nullptr && option->count() > 0)
      fail_user("{}: is between ranks; start them with mpirun{}", name,
                command.get_option_no_throw("--ranks") != nullptr ? ", or ask for --ranks N" : "");
  }
}

void add_rank_options(CLI::App& command, TrainRequest& request) {
  command.add_option_function<std::string>(
      "--reduce", [&request](const std::string& name) { request.reduce.format = find_reduce_format(name); },
      "ranks: how gradients travel and are summed: f32 (default), bf16, bf16-f32sum, f16, f16-f32sum");
  add_reduce_by(command, request.reduce.by);
  command
      .add_option_function<std::int64_t>(
          "--bucket", [&request](std::int64_t megabytes) { request.reduce.bucket_bytes = megabytes << 20; },
          "ranks: MiB of gradients that travel together (default 25)")
      ->check(CLI::Range(1, 1 << 10));
  add_zero(command, request.training.sharding.stage);
  command
      .add_option("--check-every", request.check_every,
                  "ranks: steps between two comparisons of weights (default 100; 0: none)")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 40));
}

void add_thread_ranks_option(CLI::App& command, int& ranks) {
  command.add_option("--ranks", ranks, "train as so many ranks, threads of this process (mpirun makes processes)")
      ->check(CLI::Range(1, 1 << 10));
}

int as_rank(const RanksWork& asked, const std::function<int(Group&)>& work) {
  if (asked.device == cuda_device && is_launched_as_rank()) take_own_gpu();
  const std::unique_ptr<Group> group = launched_group();
  if (group->size() == 1) return work(*group);
  return as_rank_of(*group, asked.task, [&](Group& launched) {
    check_same_everywhere(launched, {{"another program", program_hash()}});
    agreed(launched, [&] {
      if (asked.thread_ranks > 1)
        fail_user("--ranks: the launcher has made {} ranks; drop the option", launched.size());
    });
    return work(launched);
  });
}

}  // namespace assay
