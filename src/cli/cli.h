#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "hardware/facts.h"
#include "studies/shared/training_step.h"

namespace assay {

/// What a subcommand does once its options are read; returns the exit code.
using Action = std::function<int()>;

/// Exit codes of a command that did its work, beside 0; errors have those of base/error.h.
enum class DoneCode : int {
  unsaved = 4,  ///< Measured and printed, but not kept in the store.
  slower = 9    ///< `compare --fail-if-slower`: slower than allowed, beyond doubt.
};

/// Options that every command that runs on this machine has.
struct MachineOptions {
  int threads = 0;
  std::string max_isa;
  std::filesystem::path measured;  ///< What a process that started this one knows of the machine; empty: the cache.
};
void add_machine_options(CLI::App& command, MachineOptions& options);
/// Not listed: of commands that our own commands start.
void add_measured_option(CLI::App& command, MachineOptions& options);
/// Reads the facts (with what probe has measured, where its cache has it) and sets the threads.
/// `device`: whose facts; the host's where there is no such device.
MachineFacts facts_for(const MachineOptions& options, const std::string& device = "cpu");

/// An option whose value is one of the words of `choices`; its help says "once|every-call".
/// `value`: of the choices' type, or an optional of it.
template <typename T, typename Choice>
CLI::Option* add_choice(CLI::App& command, const std::string& name, T& value,
                        const std::map<std::string, Choice>& choices, const std::string& help) {
  std::string words;
  for (const auto& [word, meaning] : choices) words += (words.empty() ? "" : "|") + word;
  const auto known = [choices, words](std::string& text) -> std::string {
    const auto found = choices.find(text);
    if (found == choices.end()) return text + ": " + words + " are known";
    text = std::to_string(static_cast<long long>(found->second));
    return {};
  };
  return command.add_option(name, value, help)->transform(CLI::Validator(known, ""))->option_text(words);
}

/// Bounds of a number that is no NaN: `CLI::Range` lets NaN through.
CLI::Validator between(double least, double most);

/// `--device`, `--with`, `--fusion`.
void add_engine_options(CLI::App& command, EngineOptions& options);
/// `--with` alone.
void add_with_option(CLI::App& command, EngineOptions& options);
/// `--recipe`, of a command that runs one precision, in its place.
void add_recipe_option(CLI::App& command, EngineOptions& options, std::string& precision);
/// Of one that runs several: beside those that are asked for. After `--precision`.
void add_recipe_option(CLI::App& command, EngineOptions& options, std::vector<std::string>& precisions);
/// Not listed: recipes that precisions name, of commands that our own commands start.
void add_known_recipe_option(CLI::App& command, EngineOptions& options);
/// `--mode infer|train`.
void add_mode_option(CLI::App& command, RunMode& mode);
/// `--mode infer|train|generate`.
void add_mode_with_generate_option(CLI::App& command, RunMode& mode);
/// `--graphs on|off`.
void add_graphs_option(CLI::App& command, Graphs& graphs);
/// `--logits`.
void add_logits_option(CLI::App& command, EngineOptions& options);
/// `--allow-unused`, `--allow-nonfinite`, `--seed`.
void add_model_options(CLI::App& command, ModelOptions& options);

// One file a subcommand: adds it to the program and sets `action` when it was the one given.
void add_accumulate(CLI::App& program, Action& action);
void add_attention(CLI::App& program, Action& action);
void add_autocast(CLI::App& program, Action& action);
void add_bench(CLI::App& program, Action& action);
void add_check(CLI::App& program, Action& action);
void add_compare_training(CLI::App& program, Action& action);
void add_compare(CLI::App& program, Action& action);
void add_dump(CLI::App& program, Action& action);
void add_explain(CLI::App& program, Action& action);
void add_export(CLI::App& program, Action& action);
void add_generate(CLI::App& program, Action& action);
void add_history(CLI::App& program, Action& action);
void add_import(CLI::App& program, Action& action);
void add_verify(CLI::App& program, Action& action);
void add_findings(CLI::App& program, Action& action);
void add_measure(CLI::App& program, Action& action);
void add_memory(CLI::App& program, Action& action);
void add_models(CLI::App& program, Action& action);
void add_peers(CLI::App& program, Action& action);
void add_probe(CLI::App& program, Action& action);
void add_profile(CLI::App& program, Action& action);
void add_pull(CLI::App& program, Action& action);
void add_quantize(CLI::App& program, Action& action);
void add_report(CLI::App& program, Action& action);
void add_resident(CLI::App& program, Action& action);  ///< Hidden: what --isolate starts.
void add_sensitivity(CLI::App& program, Action& action);
void add_tune(CLI::App& program, Action& action);
void add_study(CLI::App& program, Action& action);
void add_tokenize(CLI::App& program, Action& action);
void add_train(CLI::App& program, Action& action);
void add_train_benchmark(CLI::App& program, Action& action);  ///< `train`, where --benchmark is given.

}  // namespace assay
