#pragma once

#include <memory>

#include "cli/cli.h"

namespace assay {

/// `assay train` is two commands under one name that share little: `--benchmark` says which.
enum class TrainForm : std::uint8_t { training, benchmark };

/// The program with every command, each under the aim that it serves, as `assay --help` lists them.
std::unique_ptr<CLI::App> make_program(Action& action, TrainForm form);

// Commands that tell of the others (listing.h).
void add_completion(CLI::App& program, Action& action);
void add_man(CLI::App& program, Action& action);

}  // namespace assay
