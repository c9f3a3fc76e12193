#pragma once

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace assay {

/// How a run of the built program ended.
struct Outcome {
  int exit_code = -1;  ///< -1 where a signal ended it.
  int signal = 0;
  std::string out;
  std::string err;
  double cpu_s = 0;  ///< Of all its threads: what a busy machine does not change.
  std::int64_t peak_bytes = 0;
  double after_interrupt_s = 0;  ///< From the interrupt to the end.

  /// Whether stdout says so, with any white space where `part` has one space: where lines break depends on figures.
  bool says(const std::string& part) const;
};

using Arguments = std::vector<std::string>;

/// Where a run's store is, in the folder in which it runs: `data/assay/results.db`.
inline constexpr const char* data_home = "data";

/// Runs a program with these arguments in that folder, which also holds its temporary files. A run that hangs is ended.
Outcome run_program(const std::filesystem::path& program, const std::filesystem::path& folder,
                    const Arguments& arguments);
/// The same of `assay`.
Outcome run_assay(const std::filesystem::path& folder, const Arguments& arguments);
/// The same with a terminal for stderr, sending `signal` as soon as `phase` is shown there.
Outcome interrupt_assay(const std::filesystem::path& folder, const Arguments& arguments, const std::string& phase,
                        int signal = SIGINT);

/// Runs it and sends `signal` to the first process that it starts.
Outcome run_assay_and_signal_its_child(const std::filesystem::path& folder, const Arguments& arguments, int signal);

}  // namespace assay
