#pragma once

#include <string>
#include <vector>

#include "cli/cli.h"
#include "studies/shared/shard.h"

namespace assay {

/// Whether each machine measures all of a grid, so that what they choose can be compared.
enum class EveryMachine : std::uint8_t { no, yes };

/// How a grid is divided.
struct ShardOptions {
  std::string shard = {};  ///< "2/4" or "auto"; empty: it is not.
  EveryMachine every_machine = EveryMachine::no;
  std::string of_grid = {};  ///< Of a command that a study starts: its shard and the study's own command.
  const CLI::App* command = nullptr;
};
/// `--shard`, `--every-machine`: of every command that measures a grid.
void add_shard_options(CLI::App& command, ShardOptions& options);

/// Whether another process of this machine measures instead, with `--every-machine`; then a line says so.
bool is_idle(const ShardOptions& options);
/// Throws a user error for what names no shard, and for surroundings that tell none.
GridDivision division_of(const ShardOptions& options);

/// Of a command line's words those that say what is measured: without its shard, what it writes and where it is kept.
std::vector<std::string> grid_words(std::vector<std::string> words, const CLI::App& command);

}  // namespace assay
