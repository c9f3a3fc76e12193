#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "base/folders.h"
#include "base/streams.h"
#include "base/units.h"
#include "cli/cli.h"
#include "hub/catalogue.h"
#include "hub/models.h"
#include "model/architecture.h"
#include "model/presets.h"

namespace assay {
namespace {

std::int64_t parameters(const ModelConfig& config) {
  std::int64_t total = 0;
  for (const Value& value : build_program(config, {}).values) {
    if (value.source == Source::weight) total += element_count(concrete(value.shape, {1, 1}));
  }
  return total;
}

std::string cached_text() {
  std::string text =
      fmt::format("in the cache ({})\n", find_cache_folder() ? models_folder().string()
                                                             : "there is none: neither HOME nor XDG_CACHE_HOME is set");
  const std::vector<CachedModel> cached = list_cached();
  for (const CachedModel& model : cached) {
    text += fmt::format("  {:<18} {:>10}  {}\n", model.name, format_bytes(static_cast<double>(model.bytes)),
                        model.path.string());
  }
  return cached.empty() ? text + "  nothing yet\n" : text;
}

std::string pullable_text() {
  std::string text = "to be pulled (assay pull NAME)\n";
  for (const PullableModel& model : pullable_models()) {
    text += fmt::format("  {:<18} {:>10}  {}\n", model.name, format_bytes(static_cast<double>(model.download_bytes)),
                        model.about);
  }
  return text;
}

std::string presets_text() {
  std::string text = "presets (published sizes, random weights)\n";
  for (const Preset& preset : presets()) {
    const ModelConfig& c = preset.config;
    text += fmt::format("  {:<18} {:>14} parameters, {} layers, width {}, {} heads, context {}\n", preset.name,
                        format_count(parameters(c)), c.layers, c.d_model, c.heads, c.context);
  }
  return text;
}

/// One a line, for programs: completions of shells read them.
int list_names() {
  std::set<std::string> names;
  for (const CachedModel& model : list_cached()) names.insert(model.name);
  for (const PullableModel& model : pullable_models()) names.emplace(model.name);
  for (const Preset& preset : presets()) names.emplace(preset.name);
  print(fmt::format("{}\n", fmt::join(names, "\n")));
  return 0;
}

int list_models() {
  print("A model's name is looked up in this order: path (a folder or .gguf file), cache, preset.\n\n" + cached_text() +
        "\n" + pullable_text() + "\n" + presets_text());
  return 0;
}

}  // namespace

void add_models(CLI::App& program, Action& action) {
  CLI::App& command =
      *program.add_subcommand("models", "List the models that can be named, and how names are looked up");
  command.footer("example: assay models");
  const auto list = std::make_shared<int (*)()>(list_models);
  command.add_flag_callback("--names", [list] { *list = list_names; }, "the names alone, one a line");
  command.callback([list, &action] { action = *list; });
}

}  // namespace assay
