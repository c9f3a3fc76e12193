#include "cli/shard_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>

#include "base/error.h"
#include "base/streams.h"
#include "cli/origin.h"
#include "cli/other_names.h"
#include "studies/shared/launched.h"

namespace assay {
namespace {

/// What does not say what is measured; so do all that name a file to write.
constexpr const char* other_options[] = {"--shard",  "--every-machine", "--of-grid", "--store",
                                         "--resume", "--machine",       "--details"};
/// How help shows an option that names a file to write (output_options.cc).
constexpr const char* shard_output_type = "FILE";

std::optional<std::string> shard_environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

bool is_other(const std::string& name, const CLI::App& command) {
  if (std::find(std::begin(other_options), std::end(other_options), name) != std::end(other_options)) return true;
  const CLI::Option* option = command.get_option_no_throw(name);
  return option != nullptr && option->get_type_name() == shard_output_type;
}

/// Whether the option's value is the next word, where none is behind an equals sign.
bool takes_next(const std::string& name, const CLI::App& command) {
  const CLI::Option* option = command.get_option_no_throw(name);
  return option != nullptr && option->get_expected_min() > 0;
}

}  // namespace

void add_shard_options(CLI::App& command, ShardOptions& options) {
  options.command = &command;
  CLI::Option* shard = command.add_option(
      "--shard", options.shard,
      "measure the I-th of N parts of the grid; auto: as Slurm (array or srun) or Open MPI number this process, whose "
      "rank 0 then tells of all");
  shard->option_text("I/N|auto");
  CLI::Option* every = command.add_flag_callback(
      "--every-machine", [&options] { options.every_machine = EveryMachine::yes; },
      "all of the grid on each machine, once where several processes are started on it");
  every->excludes(shard);
  command.add_option("--of-grid", options.of_grid, "shard and command of the study that starts this")->group("");
}

bool is_idle(const ShardOptions& options) {
  if (options.every_machine == EveryMachine::no) return false;
  const auto rank = local_rank(shard_environment);
  if (!rank || rank->number == 0) return false;
  tell(fmt::format("--every-machine: {}={}: the first process of this machine measures\n", rank->variable,
                   rank->number));
  return true;
}

std::vector<std::string> grid_words(std::vector<std::string> words, const CLI::App& command) {
  std::vector<std::string> kept;
  kept.reserve(words.size());
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::size_t equals = words[i].find('=');
    const std::string name = words[i].substr(0, equals);
    if (!name.starts_with("--") || !is_other(name, command))
      kept.push_back(std::move(words[i]));
    else if (equals == std::string::npos && takes_next(name, command))
      ++i;
  }
  return kept;
}

GridDivision division_of(const ShardOptions& options) {
  if (!options.of_grid.empty()) {
    const std::size_t blank = options.of_grid.find(' ');
    if (blank == std::string::npos) fail_user("--of-grid {}: names no shard and no command", options.of_grid);
    const std::string shard = options.of_grid.substr(0, blank);
    return {.grid = options.of_grid.substr(blank + 1), .shard = shard == "-" ? "" : shard};
  }
  GridDivision division;
  if (options.shard.empty() && options.every_machine == EveryMachine::no) return division;
  std::vector<std::string> words = command_words();
  words.erase(words.begin());
  words = grid_words(with_own_names(*options.command->get_parent(), std::move(words)), *options.command);
  division.grid = "assay " + shell_line(words);
  if (options.shard.empty()) return division;
  division.part = options.shard == "auto" ? shard_of(shard_environment) : parse_shard(options.shard);
  if (!division.part) fail_user("--shard {}: not a part such as 2/4, nor auto", options.shard);
  return division;
}

}  // namespace assay
