#include "studies/shared/resident.h"
#include "base/error.h"
#include "base/json.h"
#include "base/streams.h"
#include "cli/cli.h"
#include "cli/train_options.h"

namespace assay {
namespace {

/// That memory ran out is an answer too: whoever asks makes a row of it.
Json answer(const ResidentRequest& request, const MachineFacts& facts) {
  try {
    const ResidentBytes bytes = with_memory_errors([&] { return measure_resident(request, facts); });
    return Json::object({{"resident_bytes", bytes.peak}, {"program_bytes", bytes.program}});
  } catch (const OutOfMemory& error) {
    return Json::object({{"out_of_memory", error.what()}});
  }
}

}  // namespace

void add_resident(CLI::App& program, Action& action) {
  struct Options {
    ResidentRequest request;
    MachineOptions machine;
  };
  const auto options = std::make_shared<Options>();
  ResidentRequest& request = options->request;
  CLI::App& command = *program.add_subcommand("resident", "Run one row once and print the memory that was resident");
  command.group("");  // Not listed: 'bench --isolate' starts it.
  command.footer("example: assay resident gpt2 --precision bf16 --batch 1 --seq 128");
  command.add_option("model", request.model, "folder, .gguf file, cached model or preset")->required();
  command.add_option("--precision", request.precision, "one precision")->required();
  command.add_option("--batch", request.extent.batch, "rows (default 1)")->check(CLI::Range(1, 1 << 20));
  command.add_option("--seq", request.extent.seq, "tokens a row (default 128)")->check(CLI::Range(1, 1 << 20));
  add_measured_option(command, options->machine);
  add_mode_with_generate_option(command, request.mode);
  static const std::map<std::string, Recompute> recomputes = {
      {"none", Recompute::none}, {"attention", Recompute::attention}, {"block", Recompute::block}};
  add_choice(command, "--recompute", request.recompute, recomputes, "training: what the backward computes again");
  add_storage_options(command, request.storage);
  command.add_flag_callback(
      "--leave-emulated", [&request] { request.emulated = Emulated::left_out; }, "do not run what is emulated here");
  add_logits_option(command, request.engine);
  add_engine_options(command, request.engine);
  add_known_recipe_option(command, request.engine);
  add_model_options(command, request.model_options);
  add_machine_options(command, options->machine);
  command.callback([options, &action] {
    action = [options] {
      const MachineFacts facts = facts_for(options->machine, options->request.engine.device);
      print(answer(options->request, facts).dump() + "\n");
      return 0;
    };
  });
}

}  // namespace assay
