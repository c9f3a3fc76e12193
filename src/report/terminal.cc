#include "report/terminal.h"

#include <unistd.h>

#include <cstdlib>
#include <string>

namespace assay {

Colour colour_for(int file_descriptor) {
  const char* no_colour = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  const bool is_refused = (no_colour && *no_colour) || (terminal && std::string(terminal) == "dumb");
  return !is_refused && isatty(file_descriptor) ? Colour::on : Colour::off;
}

}  // namespace assay
