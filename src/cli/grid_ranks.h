#pragma once

#include <functional>
#include <vector>

#include "cli/outputs.h"
#include "cli/run_recorder.h"
#include "cli/shard_options.h"
#include "report/subject.h"
#include "studies/gather/request.h"

namespace assay {

/// A command that measures a grid, or its part of one.
struct GridCommand {
  const ShardOptions& shard;
  const GridDivision& division;  ///< That the shard's options say.
  const StoreOptions& store;
  OutputOptions& outputs;
};

/// Measures this process's part and keeps it in that store.
using MeasureGrid = std::function<GridPart(const StoreOptions& store)>;
/// Shows and writes what was measured; the exit code.
using TellGrid = std::function<int(const std::vector<GridPart>& parts)>;

/// Measures and tells. With `--shard auto` or `--every-machine` under a launcher whose ranks can be joined, the ranks
/// of one machine measure in turns and rank 0 tells what all have found, takes over what was kept elsewhere and lists
/// what is missing; errors of single ranks are lines. Everywhere else this process tells what it has measured. Where
/// `--every-machine` leaves a process nothing to do, it does nothing.
int run_grid(const GridCommand& command, const MeasureGrid& measure, const TellGrid& tell_grid);

/// What a command does with what it shows.
struct GridTelling {
  JoinRecords join = {};                                                               ///< See documents_of().
  std::function<void(std::vector<ReportSource>&)> settle = {};                         ///< Changes what is shown.
  std::function<std::vector<OutputFile>(const std::vector<ReportSource>&)> more = {};  ///< Files of its own.
};
/// The charts of all of them.
std::vector<Figure> figures_of(const std::vector<ReportSource>& sources);
/// Shows and writes the parts.
void deliver_grid(std::vector<GridPart> parts, const OutputOptions& outputs, const GridTelling& telling = {});

/// The exit code of a grid of records: 3, with a line that says so, where not one is an answer.
int grid_code(const std::vector<GridPart>& parts);
/// The same of one whose documents have a table of cells.
int cells_code(const std::vector<GridPart>& parts);

}  // namespace assay
