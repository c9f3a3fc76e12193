#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "cli/progress.h"
#include "results/exchange.h"

namespace assay {

/// What some stores hold, and how many of them could not be read; of each of those a line said why.
struct ReadStores {
  std::vector<ExchangedRun> runs = {};
  std::size_t failed = 0;
};
/// Reads one after the other; a bad one keeps none of the others back.
ReadStores read_stores(const std::vector<std::string>& files, Progress& progress);

/// Does `work` on each; what a file of them is at fault for is told in a line. Returns how many were.
std::size_t for_each_store(const std::vector<std::string>& files, Progress& progress,
                           const std::function<void(const std::string& file)>& work);
/// The runs of one, told while they are read.
std::vector<ExchangedRun> read_store(const std::string& file, Progress& progress);

}  // namespace assay
