#include "base/streams.h"

#include <fcntl.h>
#include <unistd.h>

#include <new>
#include <span>

#include "base/error.h"
#include "base/printable.h"
#include "base/write_file.h"

namespace assay {

void open_standard_streams() {
  for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; ++descriptor) {
    if (::fcntl(descriptor, F_GETFD) >= 0) continue;
    // The lowest free number is this one, since those below it are open.
    ::open("/dev/null", descriptor == STDIN_FILENO ? O_RDONLY : O_WRONLY);
  }
}

void print(std::string_view text) {
  print_coloured(harmless(text));
}

void print_coloured(std::string_view text) {
  write_all(STDOUT_FILENO, std::as_bytes(std::span(text)), "standard output");
}

void tell(std::string_view text) noexcept {
  try {
    tell_terminal(harmless(text));
  } catch (...) {
  }
}

void tell_terminal(std::string_view text) noexcept {
  try {
    write_all(STDERR_FILENO, std::as_bytes(std::span(text)), "standard error");
  } catch (...) {
  }
}

}  // namespace assay
