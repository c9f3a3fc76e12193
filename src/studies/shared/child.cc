#include "studies/shared/child.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>

#include "base/interrupt.h"
#include "base/paths.h"
#include "base/system_error.h"

namespace assay {

void remove_folder(const std::filesystem::path* folder) {
  std::error_code ignored;
  std::filesystem::remove_all(*folder, ignored);
  delete folder;
}

ScratchFolder make_folder(const std::string& name) {
  std::string path = (temporary_folder() / (name + "-XXXXXX")).string();
  if (::mkdtemp(path.data()) == nullptr) fail_call(path, errno);
  return ScratchFolder(new std::filesystem::path(path));
}

std::string last_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.substr(text.find_last_of('\n') + 1);
}

CommandResult run_held(const Command& command) {
  int signal = 0;
  CommandResult result;
  {
    const InterruptScope scope = catch_interrupts();
    result = run_command(command);
    signal = pending_interrupt();
  }
  if (signal == 0) return result;
  std::raise(signal);  // Again, for whoever watched before.
  return {128 + signal, ""};
}

}  // namespace assay
