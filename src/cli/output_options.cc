#include "cli/output_options.h"

#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "base/write_file.h"
#include "cli/deliver.h"
#include "hub/models.h"
#include "results/store.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

/// How help shows such an option; no other option is shown so.
constexpr const char* output_type = "FILE";

/// Options that name what is read; so do all words without an option. A word of another option (`--device reference`)
/// may be some file's name by chance.
constexpr const char* reading_options[] = {"--data",      "--tokens",    "--eval",     "--store",         "--text-file",
                                           "--models",    "--decode",    "--recipe",   "--prompt-file",   "--config",
                                           "--calibrate", "--lora-from", "--baseline", "--optimizer-from"};

/// What SQLite keeps beside a database.
constexpr const char* companions[] = {"", "-wal", "-journal", "-shm"};

struct Named {
  std::string option;
  fs::path path;
};

bool is_output(const CLI::Option& option) {
  return option.get_type_name() == output_type;
}

bool is_input(const CLI::Option& option) {
  return option.get_positional() || std::any_of(std::begin(reading_options), std::end(reading_options),
                                                [&](const char* name) { return option.check_name(name); });
}

std::vector<Named> output_words(const CLI::App& command, bool (*wanted)(const CLI::Option&)) {
  std::vector<Named> words;
  for (const CLI::Option* option : command.get_options()) {
    if (!wanted(*option)) continue;
    for (const std::string& word : option->results()) {
      if (!word.empty()) words.push_back({option->get_name(), word});
    }
  }
  return words;
}

/// What errors and absent folders leave open is told by whoever opens the file.
template <typename Find>
std::optional<fs::path> if_known(Find&& find) {
  try {
    return find();
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// Every word that may be a path to read: whether it is one, a comparison with the outputs shows.
std::vector<Named> inputs_of(const CLI::App& command) {
  std::vector<Named> inputs = output_words(command, is_input);
  const std::size_t given = inputs.size();
  for (std::size_t i = 0; i < given; ++i) {
    const auto cached = if_known([&] { return find_local(inputs[i].path.string(), HubNeed::cached); });
    if (cached && *cached != inputs[i].path) inputs.push_back({inputs[i].option, *cached});
  }
  const CLI::Option* store = command.get_option_no_throw("--store");
  if (store == nullptr || !store->empty()) return inputs;
  const auto own = if_known([] { return std::optional(default_store_file()); });
  if (own) inputs.push_back({"--store", *own});
  return inputs;
}

/// What assay reads in a model's or a data folder; anything else there is not of its making.
bool is_read_in_folders(const fs::path& file) {
  constexpr const char* endings[] = {".safetensors", ".gguf", ".npy", ".txt", ".model"};
  constexpr const char* names[] = {"config.json",
                                   "tokenizer.json",
                                   "tokenizer_config.json",
                                   "added_tokens.json",
                                   "special_tokens_map.json",
                                   "vocab.json",
                                   "manifest.json",
                                   "training.json",
                                   "model.safetensors.index.json",
                                   "generation_config.json",
                                   "chat_template.jinja",
                                   "adapter_config.json"};
  const auto is = [](const std::string& text) { return [&text](const char* known) { return text == known; }; };
  return std::any_of(std::begin(endings), std::end(endings), is(file.extension().string())) ||
         std::any_of(std::begin(names), std::end(names), is(file.filename().string()));
}

/// Whether an output is one of the files of a folder that is read.
bool is_read_in(const fs::path& folder, const fs::path& output) {
  std::error_code unknown;
  if (!fs::is_directory(folder, unknown)) return false;
  for (fs::directory_iterator at(folder, unknown), end; !unknown && at != end; at.increment(unknown)) {
    if (is_read_in_folders(at->path()) && is_same_file(output, at->path())) return true;
  }
  return false;
}

/// SQLite follows links before it names what it keeps beside a database.
bool is_of_store(const fs::path& output, const fs::path& store) {
  std::error_code unknown;
  const fs::path real = fs::weakly_canonical(fs::absolute(store, unknown), unknown);
  return std::any_of(std::begin(companions), std::end(companions), [&](const char* companion) {
    return is_same_file(output, store.string() + companion) || is_same_file(output, real.string() + companion);
  });
}

void check_not_read(const Named& output, const Named& input) {
  std::error_code unknown;
  const bool is_there = fs::exists(input.path, unknown);
  if (!is_there && input.option != "--store") return;  // A preset, or a mistake that is told by whoever opens it.
  if (is_of_store(output.path, input.path) || is_read_in(input.path, output.path))
    fail_user("{} {}: would replace what {} {} reads; name another file", output.option, output.path.string(),
              input.option, input.path.string());
}

fs::path real_place(const fs::path& path) {
  std::error_code unknown;
  return fs::weakly_canonical(fs::absolute(path, unknown), unknown);
}

/// The folder of a training has files of its own, which each save replaces: nothing else may be written there, and what
/// is read there would be lost.
void check_training_folder(const CLI::App& command, const std::vector<Named>& outputs,
                           const std::vector<Named>& inputs) {
  const CLI::Option* folder = command.get_option_no_throw("--out");
  if (folder == nullptr || is_output(*folder) || folder->empty()) return;
  const fs::path place = real_place(folder->results()[0]);
  for (const Named& output : outputs) {
    const fs::path written = real_place(output.path);
    if (output.path != standard_output_path && (written == place || written.parent_path() == place))
      fail_user("{} {}: lies in the folder that --out writes; name another file", output.option, output.path.string());
  }
  for (const Named& input : inputs) {
    const fs::path read = real_place(input.path);
    std::error_code unknown;
    if (!fs::exists(read, unknown)) continue;
    if (read == place || read.parent_path() == place)
      fail_user("{} {}: lies in the folder that --out replaces; name another folder", input.option,
                input.path.string());
  }
}

void check_output(const Named& output, const std::vector<Named>& inputs) {
  check_writable(output.path);
  if (is_file_of(STDOUT_FILENO, output.path))
    fail_user("{} {}: is where standard output goes; name another file, or /dev/stdout", output.option,
              output.path.string());
  for (const Named& input : inputs) check_not_read(output, input);
}

}  // namespace

void mark_output_file(CLI::Option& option) {
  option.type_name(output_type);
}

CLI::Option* add_output_file(CLI::App& command, const std::string& name, fs::path& file, const std::string& help) {
  CLI::Option* option = command.add_option(name, file, help);
  mark_output_file(*option);
  return option;
}

CLI::Option* add_json_flag(CLI::App& command, fs::path& file) {
  CLI::Option* option = command.add_flag("--json{-}", file, "print everything as JSON; --json=F: write it");
  mark_output_file(*option);
  return option;
}

void check_outputs(const CLI::App& command) {
  const std::vector<Named> outputs = output_words(command, is_output);
  const std::vector<Named> inputs = inputs_of(command);
  check_training_folder(command, outputs, inputs);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].path != standard_output_path) check_output(outputs[i], inputs);
    for (std::size_t other = 0; other < i; ++other) {
      if (is_same_file(outputs[i].path, outputs[other].path))
        fail_user("{} {}: is also what {} writes", outputs[i].option, outputs[i].path.string(), outputs[other].option);
    }
  }
}

}  // namespace assay
