#pragma once

#include <cstddef>
#include <cstdint>

namespace assay {

enum class Colour : std::uint8_t { off, on };
/// On where the file descriptor is a terminal, NO_COLOR is unset or empty (no-color.org) and TERM is not "dumb".
Colour colour_for(int file_descriptor);

struct TerminalOptions {
  Colour colour = Colour::off;
  std::size_t width = 120;
};

}  // namespace assay
