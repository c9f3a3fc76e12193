#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "results/document.h"

namespace assay {

enum class Colour : std::uint8_t { off, on };
/// On where the file descriptor is a terminal, NO_COLOR is unset or empty (no-color.org) and TERM is not "dumb".
Colour colour_for(int file_descriptor);

struct TerminalOptions {
  Colour colour = Colour::off;
  std::size_t width = 120;
};

/// The whole answer of a run: a table for each model, what its columns rest on, then the ledger in brief, the findings
/// and the expectations. No line is wider than options.width where that is 120 or more; UTF-8; ends with a newline.
std::string terminal_report(const Document& document, const TerminalOptions& options);

}  // namespace assay
