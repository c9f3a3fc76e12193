#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "cli/cli.h"
#include "cli/deliver.h"
#include "cli/keeping.h"
#include "cli/progress.h"
#include "experiments/bench.h"

namespace assay {

/// Where a command that measures writes, besides stdout; empty: nowhere.
struct OutputFiles {
  std::filesystem::path json;
  std::filesystem::path csv;
  std::filesystem::path markdown;
};
/// `--json`, `--csv`, `--markdown`.
void add_output_options(CLI::App& command, OutputFiles& files);

/// Makes a file's text when it is asked for.
struct OutputTexts {
  std::function<std::string()> json;
  std::function<std::string()> csv;
  std::function<std::string()> markdown;
};
/// What `deliver` writes.
std::vector<OutputFile> files_of(const OutputFiles& files, const OutputTexts& texts);

/// What commands that measure share: a line of progress, Ctrl-C that ends measuring in good order,
/// and the store. One at a time.
class Measuring {
 public:
  explicit Measuring(StoreOptions store);
  /// Facts of this machine with its rates, which are measured where no cache has them; sets the threads.
  MachineFacts probe_machine(const MachineOptions& machine, const std::string& device);
  /// The same without rates, and without measuring anything.
  MachineFacts read_machine(const MachineOptions& machine);
  BenchCallbacks callbacks();
  /// The work succeeded: clears the progress, and prints what waited.
  void finish();
  int exit_code() const;

 private:
  const std::atomic<bool>& interrupted_;
  Progress progress_;
  Keeping keeping_;
};

}  // namespace assay
