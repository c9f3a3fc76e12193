#pragma once

#include <string>
#include <vector>

#include "studies/study/request.h"

namespace assay {

/// What the command line says in the file's place.
struct StudyOverrides {
  std::vector<std::string> models = {};      ///< Of cells that ask for real weights, else of all that name a model.
  std::string data = {};                     ///< Of cells that name data; where none does, of all that take it.
  std::vector<StudyOption> everywhere = {};  ///< Of every cell whose kind has that option.
  std::vector<std::string> verdict = {};     ///< Precisions that cells which time inference measure beside their own.
  std::string of_grid = {};                  ///< `--of-grid` of cells that measure a grid; empty: none.
  std::string store = {};                    ///< Where cells keep their records; empty: the user's own.
};

/// The options of a cell as it runs: the file's defaults, the cell's own, what --quick changes, what the command line
/// says, the later in the place of the earlier.
std::vector<StudyOption> options_of_cell(const StudyFile& study, const StudyCell& cell, StudyLength length,
                                         const StudyOverrides& overrides);

/// The cells as commands, in their order. What an option may be called and hold is what the subcommand's own
/// definitions say: the words of each cell are parsed by them here, before anything runs. Relative paths start from the
/// study's folder. Throws a user error with file and line for an unknown kind or key, a value of another type or out of
/// range, a file that is not there, and a default that no cell has.
std::vector<CellCommand> cell_commands(const StudyFile& study, StudyLength length, const StudyOverrides& overrides);

}  // namespace assay
