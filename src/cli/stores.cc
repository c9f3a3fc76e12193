#include "cli/stores.h"

#include <fmt/format.h>

#include <iterator>

#include "base/error.h"
#include "cli/deliver.h"

namespace assay {

std::vector<ExchangedRun> read_store(const std::string& file, Progress& progress) {
  progress.show(file + ": reading", 0);
  return read_exchange(file, [&](std::size_t done, std::size_t all) {
    progress.show(fmt::format("{}: {} of {} records read", file, done, all), 0);
  });
}

std::size_t for_each_store(const std::vector<std::string>& files, Progress& progress,
                           const std::function<void(const std::string& file)>& work) {
  std::size_t failed = 0;
  for (const std::string& file : files) {
    try {
      work(file);
    } catch (const Error& e) {
      if (e.code() != ExitCode::user) throw;
      progress.clear();
      complain(e.what());
      ++failed;
    }
  }
  return failed;
}

ReadStores read_stores(const std::vector<std::string>& files, Progress& progress) {
  ReadStores read;
  read.failed = for_each_store(files, progress, [&](const std::string& file) {
    std::vector<ExchangedRun> runs = read_store(file, progress);
    std::move(runs.begin(), runs.end(), std::back_inserter(read.runs));
  });
  return read;
}

}  // namespace assay
