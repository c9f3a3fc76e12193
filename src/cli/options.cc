#include <map>

#include "base/threads.h"
#include "cli/cli.h"
#include "experiments/probe_cache.h"
#include "hardware/machine.h"

namespace assay {

void add_machine_options(CLI::App& command, MachineOptions& options) {
  command.add_option("--threads", options.threads, "threads that kernels use (default: one a core)")
      ->check(CLI::Range(1, 4096));
  command.add_option("--max-isa", options.max_isa, "cap on the instruction set: avx2, avx512, vnni, bf16, fp16, amx");
}

MachineFacts facts_for(const MachineOptions& options) {
  FactsOptions wanted;
  wanted.max_isa = options.max_isa;
  wanted.threads = options.threads;
  MachineFacts facts = read_machine_facts(wanted);
  load_measurements(facts);
  set_threads(facts.threads);
  return facts;
}

void add_engine_options(CLI::App& command, EngineOptions& options) {
  command.add_option("--device", options.device, "cpu, cuda, mps, or reference (slow, obvious loops)");
  command.add_option("--with", options.overrides,
                     "dtypes by role in the precision's place: norm=f16,softmax=f16,head=f32");
  static const std::map<std::string, Casts> casts = {{"once", Casts::once}, {"every-call", Casts::every_call}};
  command.add_option("--casts", options.casts, "mixed-*: cast weights once, or at every call as autocast does")
      ->transform(CLI::CheckedTransformer(casts));
  static const std::map<std::string, Fusion> fusion = {{"on", Fusion::on}, {"off", Fusion::off}};
  command.add_option("--fusion", options.fusion, "on, or off (what others call eager)")
      ->transform(CLI::CheckedTransformer(fusion));
}

void add_logits_option(CLI::App& command, EngineOptions& options) {
  static const std::map<std::string, LogitRows> rows = {{"all", LogitRows::all}, {"last", LogitRows::last}};
  command.add_option("--logits", options.program.logits, "all positions, or the last")
      ->transform(CLI::CheckedTransformer(rows));
}

void add_model_options(CLI::App& command, ModelOptions& options) {
  command.add_flag_callback(
      "--allow-unused", [&] { options.checkpoint.unused = Unused::allowed; }, "let unknown tensors pass");
  command.add_flag_callback(
      "--allow-nonfinite", [&] { options.checkpoint.nonfinite = Nonfinite::allowed; }, "let NaN weights pass");
  command.add_option("--seed", options.seed, "of random weights");
}

}  // namespace assay
