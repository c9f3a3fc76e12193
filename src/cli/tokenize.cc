#include "text/tokenizer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/streams.h"
#include "cli/cli.h"
#include "cli/deliver.h"
#include "cli/output_options.h"
#include "hub/models.h"

namespace assay {

void add_tokenize(CLI::App& program, Action& action) {
  struct Options {
    std::string model;
    std::filesystem::path file;
    std::filesystem::path json;
  };
  const auto options = std::make_shared<Options>();
  CLI::App& command = *program.add_subcommand("tokenize", "Turn a text file into token ids, special tokens included");
  command.footer("example: assay tokenize smollm2-135m --text-file article.txt --json");
  command.add_option("model", options->model, "folder, .gguf file or cached model")->required();
  command.add_option("--text-file", options->file, "its exact bytes are read, a final newline too")->required();
  add_json_flag(command, options->json)->description("print {\"ids\": [..]}; --json=F: write it");
  command.callback([options, &action] {
    action = [options] {
      const auto files = find_local(options->model);
      if (!files) fail_user("{}: has no tokenizer; a path or a model in the cache is needed", options->model);
      const Tokenizer tokenizer = load_tokenizer(*files);
      const std::vector<std::int32_t> ids = tokenizer.encode(read_file(options->file), options->file.string());
      deliver([&] { print(fmt::format("{}\n{} ids\n", fmt::join(ids, " "), ids.size())); },
              {{options->json, [&] { return Json{{"ids", ids}}.dump() + "\n"; }}});
      return 0;
    };
  });
}

}  // namespace assay
