#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/cli.h"
#include "results/store.h"
#include "studies/shared/surroundings.h"

namespace assay {

/// Which store is meant: a file, or `none`; empty: the user's own.
struct StoreOptions {
  std::string file;
  std::string settings = {};  ///< All that is asked beside the grid.
  bool resumes = false;       ///< Continue the newest run of this program with these settings.
  bool is_apart = false;      ///< Another process takes over what is kept, into another store.
};
/// `--store FILE|none`, of a command that measures.
void add_store_option(CLI::App& command, StoreOptions& options);
/// `--store FILE`, of a command that reads.
void add_read_store_option(CLI::App& command, StoreOptions& options);
/// The file that is meant; not for `none`.
std::filesystem::path store_file(const StoreOptions& options);

/// Keeps one run's records. What goes wrong is said once and costs no result: the run goes on without the store.
class RunRecorder {
 public:
  RunRecorder(StoreOptions options, std::function<void(const std::string&)> say);
  /// Measuring begins, on this machine (JSON).
  void begin(const std::string& machine);
  void keep(std::span<const Record> records);
  /// What the run that is continued has kept, each row with the time when it was saved.
  std::vector<Record> restore();
  /// What earlier runs on that machine differed by; blank without a store.
  RunSpreads spread_between_runs(const Record& measured);
  /// All that was asked has been measured.
  void end();
  bool failed() const { return failed_; }
  /// The run and its records for another store (exchange_json); empty where nothing was kept.
  std::string exchanged();

 private:
  void open();
  template <typename Work>
  void attempt(Work&& work);

  StoreOptions options_;
  std::function<void(const std::string&)> say_;
  std::string machine_;
  std::optional<Store> store_;
  std::int64_t run_ = 0;
  bool failed_ = false;
};

}  // namespace assay
