#include "studies/probe/run.h"

#include "cli/cli.h"
#include "cli/outputs.h"
#include "cli/ranks.h"
#include "processes/gather.h"
#include "processes/launch.h"
#include "studies/probe/link.h"
#include "studies/shared/device_facts.h"
#include "studies/shared/engine.h"

namespace assay {

namespace {

struct ProbeCommand {
  MachineOptions machine;
  std::string device = "cpu";
  OutputOptions outputs;
  bool renew = false;
};

Document probed(const ProbeCommand& options) {
  ProbeOptions probing;
  probing.machine.max_isa = options.machine.max_isa;
  probing.machine.threads = options.machine.threads;
  probing.cache = options.renew ? ProbeCache::renew : ProbeCache::use;
  find_backend(options.device);  // Throws where there is none, before anything is measured.
  return machine_document(facts_on(options.device, probe(probing)));
}

int probe_alone(const ProbeCommand& options) {
  deliver(probed(options), options.outputs);
  return 0;
}

/// Rank 0 probes its machine while the others sleep; then all exchange.
int probe_as_rank(const ProbeCommand& options, Group& group) {
  if (group.size() == 1) return probe_alone(options);
  Document document;
  agreed_in_patience(group, [&] {
    if (group.rank() == 0) document = probed(options);
  });
  const Link link = measure_link(group);
  if (group.rank() != 0) return 0;
  add_link(link, document);
  deliver(document, options.outputs);
  return 0;
}

int run_probe(const ProbeCommand& options, const CLI::App& command) {
  if (is_launched_as_rank() && can_join_ranks())
    return as_rank({task_of_command(command), options.device},
                   [&](Group& group) { return probe_as_rank(options, group); });
  return probe_alone(options);
}

}  // namespace

void add_probe(CLI::App& program, Action& action) {
  const auto options = std::make_shared<ProbeCommand>();
  CLI::App& command =
      *program.add_subcommand("probe", "Say what this machine is and how fast it is in each operand dtype");
  command.footer(
      "example: assay probe --max-isa avx2 --json\nmpirun -n 2 assay probe: also what messages between the ranks cost");
  add_machine_options(command, options->machine);
  command.add_option("--device", options->device, "cpu, or cuda: the GPU instead of the host");
  add_output_options(command, options->outputs, JsonOption::flag);
  command.add_flag("--renew", options->renew, "measure again instead of reading what was measured before");
  command.callback(
      [options, &action, &command] { action = [options, &command] { return run_probe(*options, command); }; });
}

}  // namespace assay
