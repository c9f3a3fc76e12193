#include "studies/probe/run.h"

#include "cli/cli.h"
#include "cli/outputs.h"
#include "studies/shared/device_facts.h"
#include "studies/shared/engine.h"

namespace assay {

void add_probe(CLI::App& program, Action& action) {
  struct Options {
    MachineOptions machine;
    std::string device = "cpu";
    OutputOptions outputs;
    bool renew = false;
  };
  const auto options = std::make_shared<Options>();
  CLI::App& command =
      *program.add_subcommand("probe", "Say what this machine is and how fast it is in each operand dtype");
  command.footer("example: assay probe --max-isa avx2 --json");
  add_machine_options(command, options->machine);
  command.add_option("--device", options->device, "cpu, or cuda: the GPU instead of the host");
  add_output_options(command, options->outputs, JsonOption::flag);
  command.add_flag("--renew", options->renew, "measure again instead of reading what was measured before");
  command.callback([options, &action] {
    action = [options] {
      ProbeOptions probing;
      probing.machine.max_isa = options->machine.max_isa;
      probing.machine.threads = options->machine.threads;
      probing.cache = options->renew ? ProbeCache::renew : ProbeCache::use;
      find_backend(options->device);  // Throws where there is none, before anything is measured.
      const MachineFacts facts = facts_on(options->device, probe(probing));
      deliver(machine_document(facts), options->outputs);
      return 0;
    };
  });
}

}  // namespace assay
