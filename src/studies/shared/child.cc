#include "studies/shared/child.h"

#include <fmt/format.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>

#include "base/file.h"
#include "base/interrupt.h"
#include "base/json.h"
#include "base/paths.h"
#include "base/system_error.h"
#include "studies/probe/run.h"

namespace assay {

void remove_folder(const std::filesystem::path* folder) {
  std::error_code ignored;
  std::filesystem::remove_all(*folder, ignored);
  delete folder;
}

ScratchFolder make_folder(const std::string& name) {
  std::string path = (temporary_folder() / (name + "-XXXXXX")).string();
  if (::mkdtemp(path.data()) == nullptr) fail_call(path, errno);
  return ScratchFolder(new std::filesystem::path(path));
}

std::vector<std::string> machine_words(const MachineFacts& facts, const std::filesystem::path& folder) {
  const std::filesystem::path measured = folder / "machine.json";
  write_file_atomically(measured, machine_json(facts).dump());
  std::vector<std::string> words = {"--machine", measured.string(), "--threads", std::to_string(facts.threads)};
  if (!facts.cap.empty()) words.insert(words.end(), {"--max-isa", facts.cap});
  return words;
}

std::vector<std::string> engine_words(const EngineOptions& engine, const ModelOptions& model) {
  std::vector<std::string> words = {"--device", engine.device,
                                    "--fusion", engine.fusion == Fusion::on ? "on" : "off",
                                    "--casts",  engine.casts == Casts::once ? "once" : "every-call",
                                    "--logits", engine.program.logits == LogitRows::all ? "all" : "last",
                                    "--seed",   std::to_string(model.seed)};
  if (!engine.overrides.empty()) words.insert(words.end(), {"--with", engine.overrides});
  if (model.checkpoint.unused == Unused::allowed) words.emplace_back("--allow-unused");
  if (model.checkpoint.nonfinite == Nonfinite::allowed) words.emplace_back("--allow-nonfinite");
  if (!model.lora_from.empty()) words.insert(words.end(), {"--lora-from", model.lora_from.string()});
  if (model.lora) words.insert(words.end(), {"--lora", assay::words(*model.lora)});
  if (!model.config.empty()) words.insert(words.end(), {"--config", model.config.string()});
  if (!model.sizes.empty()) words.insert(words.end(), {"--set", assay::words(model.sizes)});
  return words;
}

std::string asked_name(const Model& model, const ModelOptions& options) {
  const std::string sizes = options.sizes.empty() ? "" : fmt::format("[{}]", words(options.sizes));
  return model.name.ends_with(sizes) ? model.name.substr(0, model.name.size() - sizes.size()) : model.name;
}

std::vector<std::string> recipe_words(const EngineOptions& engine, const std::filesystem::path& folder) {
  std::vector<std::string> words;
  for (const Recipe& recipe : engine.recipes) {
    const std::filesystem::path file = folder / (recipe.name + ".toml");
    write_file_atomically(file, recipe_text(recipe));
    words.insert(words.end(), {"--known-recipe", file.string()});
  }
  return words;
}

std::string last_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.substr(text.find_last_of('\n') + 1);
}

CommandResult run_held(const Command& command) {
  int signal = 0;
  CommandResult result;
  {
    const InterruptScope scope = catch_interrupts();
    result = run_command(command);
    signal = pending_interrupt();
  }
  if (signal == 0) return result;
  std::raise(signal);  // Again, for whoever watched before.
  return {128 + signal, ""};
}

}  // namespace assay
