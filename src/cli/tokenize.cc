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
#include "text/id_list.h"

namespace assay {
namespace {

struct TokenizeOptions {
  std::string model;
  std::filesystem::path file;
  std::filesystem::path ids;  ///< "-": standard input; empty: text becomes ids.
  std::filesystem::path json;
  bool keeps_specials = false;
};

Tokenizer tokenizer_of(const std::string& model) {
  const auto files = find_local(model, HubNeed::tokenizer);
  if (!files) fail_user("{}: has no tokenizer; a path or a model in the cache is needed", model);
  return load_tokenizer(*files);
}

void show_ids(const TokenizeOptions& options) {
  const Tokenizer tokenizer = tokenizer_of(options.model);
  const std::vector<std::int32_t> ids = tokenizer.encode(read_file(options.file), options.file.string());
  deliver([&] { print(fmt::format("{}\n{} ids\n", fmt::join(ids, " "), ids.size())); },
          {{options.json, [&] { return Json{{"ids", ids}}.dump() + "\n"; }}});
}

void show_text(const TokenizeOptions& options) {
  const bool is_piped = options.ids == standard_output_path;
  const std::string given = is_piped ? read_standard_input() : read_file(options.ids);
  const std::vector<std::int32_t> ids = parse_ids(given, is_piped ? "standard input" : options.ids.string());
  const Specials specials = options.keeps_specials ? Specials::keep : Specials::skip;
  const std::string text = tokenizer_of(options.model).decode(ids, specials);
  deliver([&] { print(text + "\n"); }, {{options.json, [&] { return Json{{"text", text}}.dump() + "\n"; }}});
}

}  // namespace

void add_tokenize(CLI::App& program, Action& action) {
  const auto options = std::make_shared<TokenizeOptions>();
  CLI::App& command =
      *program.add_subcommand("tokenize", "Turn a text file into token ids, special tokens included, or ids into text");
  command.footer(
      "example: assay tokenize smollm2-135m --text-file article.txt --json\n"
      "         assay tokenize smollm2-135m --decode=ids.json");
  command.add_option("model", options->model, "folder, .gguf file, cached model or hf:ORG/NAME")->required();
  CLI::Option* text = command.add_option("--text-file", options->file, "its exact bytes are read, a final newline too");
  CLI::Option* decode = command.add_flag("--decode{-}", options->ids,
                                         "the text of ids from standard input, --decode=F: from a file; as --json "
                                         "prints them, a list of JSON, or numbers with white space between");
  command.add_flag("--keep-specials", options->keeps_specials, "with --decode: special tokens too")->needs(decode);
  decode->excludes(text);
  add_json_flag(command, options->json)->description("print {\"ids\": [..]}, or {\"text\": ..}; --json=F: write it");
  command.callback([options, &action] {
    if (options->file.empty() && options->ids.empty()) fail_user("tokenize: --text-file or --decode is needed");
    action = [options] {
      options->ids.empty() ? show_ids(*options) : show_text(*options);
      return 0;
    };
  });
}

}  // namespace assay
