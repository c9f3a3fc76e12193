#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>

#include "experiments/engine.h"
#include "hardware/facts.h"

namespace assay {

/// What a subcommand does once its options are read; returns the exit code.
using Action = std::function<int()>;

/// Options that every command that runs on this machine has.
struct MachineOptions {
  int threads = 0;
  std::string max_isa;
};
void add_machine_options(CLI::App& command, MachineOptions& options);
/// Reads the facts (with what probe has measured, where its cache has it) and sets the threads.
MachineFacts facts_for(const MachineOptions& options);

/// `--device`, `--with`, `--fusion`.
void add_engine_options(CLI::App& command, EngineOptions& options);
/// `--logits`.
void add_logits_option(CLI::App& command, EngineOptions& options);
/// `--allow-unused`, `--allow-nonfinite`, `--seed`.
void add_model_options(CLI::App& command, ModelOptions& options);

// One file a subcommand: adds it to the program and sets `action` when it was the one given.
void add_accumulate(CLI::App& program, Action& action);
void add_bench(CLI::App& program, Action& action);
void add_dump(CLI::App& program, Action& action);
void add_explain(CLI::App& program, Action& action);
void add_models(CLI::App& program, Action& action);
void add_probe(CLI::App& program, Action& action);
void add_pull(CLI::App& program, Action& action);
void add_resident(CLI::App& program, Action& action);  ///< Hidden: what --isolate starts.
void add_tokenize(CLI::App& program, Action& action);

}  // namespace assay
