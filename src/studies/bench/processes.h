#pragma once

#include <optional>
#include <string>
#include <vector>

#include "studies/bench/timed_cell.h"

namespace assay {

/// With fewer, what differs between processes is hardly known: Student's t is 4.3 times a standard error with three.
constexpr int enough_processes = 5;
/// So that the figure of a process is not that of one odd round.
constexpr int least_rounds_a_process = 5;

/// How many processes time a cell: as asked; where that is left to us, enough_processes where starting the others takes
/// no longer than its budget, else this one.
int processes_for(const BenchRequest& request, const CellStart& start);

/// A cell that is to be timed once more in a process of its own.
struct CellAgain {
  const Model& model;
  const std::vector<Contender>& contenders;
  Extent extent;
  double seconds = 0;  ///< For each precision.
  int process = 2;     ///< Which one it is.
};
struct CellAnswer {
  std::vector<Record> records;
  std::string fault;  ///< A sentence where there are none.
};
/// `assay bench` of that cell, without quality, energy and store.
CellAnswer bench_in_child(const CellAgain& cell, const BenchRequest& request, const MachineFacts& facts);

/// The samples of another process appended to those of a cell's rows, and conditions that hold for both: the busiest
/// processors, all page faults. A sentence where they are not of the same rows; then nothing is appended.
std::string append_process(const std::vector<Record>& more, std::span<Record* const> rows);

}  // namespace assay
