#include <fmt/format.h>

#include <map>
#include <set>

#include "base/error.h"
#include "base/streams.h"
#include "base/threads.h"
#include "cli/cli.h"
#include "formats/recipe_file.h"
#include "hardware/machine.h"
#include "hardware/topology.h"
#include "studies/probe/cache.h"
#include "studies/shared/device_facts.h"

namespace assay {
namespace {

/// What the precision is called that the file is.
std::string add_recipe(const std::string& file, EngineOptions& options) {
  Recipe recipe = load_recipe(file);
  for (const Recipe& other : options.recipes) {
    if (other.name == recipe.name) fail_user("--recipe {}: another one is called '{}', too", file, recipe.name);
  }
  options.recipes.push_back(std::move(recipe));
  return precision_name(options.recipes.back());
}

/// A command may open a model more than once.
void note_once(const std::string& sentence) {
  static std::set<std::string> said;
  if (said.insert(sentence).second) tell("note: " + sentence + "\n");
}

}  // namespace

CLI::Validator between(double least, double most) {
  const auto check = [least, most](std::string& text) -> std::string {
    double value = 0;
    const bool is_number = CLI::detail::lexical_cast(text, value);
    if (is_number && value >= least && value <= most) return {};
    return fmt::format("{}: must be between {} and {}", text, least, most);
  };
  return {check, ""};
}

void add_machine_options(CLI::App& command, MachineOptions& options) {
  command.add_option("--threads", options.threads, "threads that kernels use (default: one a core)")
      ->check(CLI::Range(1, usable_cores("/")));
  command.add_option("--max-isa", options.max_isa, "cap on the instruction set")
      ->option_text("avx2|avx512|vnni|bf16|fp16|amx");
}

void add_measured_option(CLI::App& command, MachineOptions& options) {
  command.add_option("--machine", options.measured, "what probe measured, as its --json prints it")->group("");
}

MachineFacts facts_for(const MachineOptions& options, const std::string& device) {
  FactsOptions wanted;
  wanted.max_isa = options.max_isa;
  wanted.threads = options.threads;
  MachineFacts facts = read_machine_facts(wanted);
  if (options.measured.empty()) {
    load_measurements(facts);
  } else {
    facts.peaks.clear();
    load_measurements(facts, options.measured);
  }
  set_threads(facts.threads);
  return facts_on(device, std::move(facts));
}

void add_with_option(CLI::App& command, EngineOptions& options) {
  command.add_option(
      "--with", options.overrides,
      "dtypes by role in the precision's place (norm=f16,head=f32); rows by layer path (layers.0.*=int8,@mlp=bf16)");
}

void add_engine_options(CLI::App& command, EngineOptions& options) {
  command.add_option("--device", options.device, "where it runs (default cpu); reference: slow, obvious loops")
      ->option_text("cpu|cuda|mps|reference");
  add_with_option(command, options);
  static const std::map<std::string, Casts> casts = {{"once", Casts::once}, {"every-call", Casts::every_call}};
  add_choice(command, "--casts", options.casts, casts, "mixed-*: cast weights once, or at every call as autocast does");
  static const std::map<std::string, Fusion> fusion = {{"on", Fusion::on}, {"off", Fusion::off}};
  add_choice(command, "--fusion", options.fusion, fusion, "on, or off (what others call eager)");
}

void add_recipe_option(CLI::App& command, EngineOptions& options, std::string& precision) {
  const auto take = [&](const std::string& file) { precision = add_recipe(file, options); };
  command.add_option_function<std::string>("--recipe", take, "a mix of precisions by layer, TOML, in their place")
      ->excludes(command.get_option("--precision"));
}

void add_recipe_option(CLI::App& command, EngineOptions& options, std::vector<std::string>& precisions) {
  const auto asked = std::make_shared<std::vector<std::string>>();
  command.add_option("--recipe", *asked, "mixes of precisions by layer, TOML files, beside --precision")
      ->delimiter(',');
  command.parse_complete_callback([asked, &options, &precisions] {
    for (const std::string& file : *asked) precisions.push_back(add_recipe(file, options));
  });
}

void add_known_recipe_option(CLI::App& command, EngineOptions& options) {
  command
      .add_option_function<std::string>(
          "--known-recipe", [&](const std::string& file) { add_recipe(file, options); }, "what recipe:NAME means")
      ->group("");
}

void add_graphs_option(CLI::App& command, Graphs& graphs) {
  static const std::map<std::string, Graphs> choices = {{"on", Graphs::on}, {"off", Graphs::off}};
  add_choice(command, "--graphs", graphs, choices, "cuda: queue a pass as one CUDA graph (default), or by kernels");
}

void add_mode_with_generate_option(CLI::App& command, RunMode& mode) {
  static const std::map<std::string, RunMode> modes = {
      {"infer", RunMode::infer}, {"train", RunMode::train}, {"generate", RunMode::generate}};
  add_choice(command, "--mode", mode, modes,
             "a forward pass (default), a training step with AdamW, or a prompt and tokens through a cache");
}

void add_mode_option(CLI::App& command, RunMode& mode) {
  static const std::map<std::string, RunMode> modes = {{"infer", RunMode::infer}, {"train", RunMode::train}};
  add_choice(command, "--mode", mode, modes, "a forward pass (default), or a training step with AdamW");
}

void add_logits_option(CLI::App& command, EngineOptions& options) {
  static const std::map<std::string, LogitRows> rows = {{"all", LogitRows::all}, {"last", LogitRows::last}};
  add_choice(command, "--logits", options.program.logits, rows, "all positions, or the last");
}

void add_model_options(CLI::App& command, ModelOptions& options) {
  options.say = note_once;
  command.add_flag_callback(
      "--allow-unused", [&] { options.checkpoint.unused = Unused::allowed; }, "let unknown tensors pass");
  command.add_flag_callback(
      "--allow-nonfinite", [&] { options.checkpoint.nonfinite = Nonfinite::allowed; },
      "let NaN and infinity pass, in weights and in what dump writes");
  command.add_option("--lora-from", options.lora_from, "adapters in PEFT's layout, put beside the model");
  command.add_option("--seed", options.seed, "of random weights, inputs and the order of rounds (default 1)");
}

}  // namespace assay
