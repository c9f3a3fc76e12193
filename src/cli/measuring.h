#pragma once

#include <atomic>
#include <string>

#include "cli/cli.h"
#include "cli/outputs.h"
#include "cli/progress.h"
#include "cli/run_recorder.h"
#include "studies/gather/request.h"
#include "studies/shared/surroundings.h"

namespace assay {

/// What commands that measure share: a line of progress, Ctrl-C that ends measuring in good order, and the store. One
/// at a time.
class Measuring {
 public:
  explicit Measuring(StoreOptions store);
  /// Facts of this machine with its rates, which are measured where no cache has them; sets the threads.
  MachineFacts probe_machine(const MachineOptions& machine, const std::string& device);
  /// The same without rates, and without measuring anything.
  MachineFacts read_machine(const MachineOptions& machine);
  StudyCallbacks callbacks();
  /// The work succeeded: clears the progress, and prints what waited.
  void finish();
  /// The same of a grid's part, with what it found: whoever shows it prints what waited.
  GridPart part(Document document);
  int exit_code() const;

 private:
  void end();

  const std::atomic<bool>& interrupted_;
  Progress progress_;
  bool is_apart_;
  RunRecorder recorder_;
};

}  // namespace assay
