#include "cli/deliver.h"

#include <algorithm>
#include <csignal>
#include <exception>
#include <new>

#include "base/error.h"
#include "base/printable.h"
#include "base/streams.h"
#include "base/write_file.h"

namespace assay {
namespace {

/// Runs `work`; the errors that it ends in are kept.
void attempt(const std::function<void()>& work, std::vector<Error>& failures) {
  try {
    work();
  } catch (const Error& e) {
    failures.push_back(e);
  } catch (const std::bad_alloc&) {
    failures.emplace_back(ExitCode::lacking, "memory: the system refused an allocation");
  } catch (const std::exception& e) {
    failures.emplace_back(ExitCode::defect, e.what());
  }
}

bool is_for_stdout(const OutputFile& file) {
  return file.path == standard_output_path;
}

void write_output(const OutputFile& file) {
  is_for_stdout(file) ? print(file.text()) : write_file_atomically(file.path, harmless(file.text()));
}

}  // namespace

void deliver(const std::function<void()>& show, const std::vector<OutputFile>& files) {
  const bool asks_for_files = std::any_of(
      files.begin(), files.end(), [](const OutputFile& file) { return !file.path.empty() && !is_for_stdout(file); });
  if (asks_for_files) std::signal(SIGPIPE, SIG_IGN);  // A reader of standard output that is gone must not cost them.
  std::vector<Error> failures;
  if (std::none_of(files.begin(), files.end(), is_for_stdout)) attempt(show, failures);
  for (const OutputFile& file : files) {
    if (file.path.empty()) continue;
    attempt([&] { write_output(file); }, failures);
  }
  if (failures.empty()) return;
  for (std::size_t i = 0; i + 1 < failures.size(); ++i) complain(failures[i].what());
  throw Error(failures.front().code(), failures.back().what());
}

void complain(const std::string& message) {
  constexpr std::size_t longest = 2000;
  tell("assay: " + printable_error(message, longest) + "\n");
}

}  // namespace assay
