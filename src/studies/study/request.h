#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/interrupt.h"
#include "results/document.h"
#include "studies/study/study_file.h"

namespace assay {

enum class StudyLength : std::uint8_t { full, quick };

/// A cell as it will be run: the words behind the program's name, the subcommand first.
struct CellCommand {
  const StudyCell* cell = nullptr;
  std::vector<std::string> words = {};
  std::vector<std::string> models = {};  ///< Of them; as they were given.
  bool models_are_given = false;         ///< By the command line: they need no weights then.
  bool keeps_records = true;             ///< In a store.
  std::filesystem::path kept = {};       ///< The document that it writes, and that it is resumed from.
};

enum class Kept : std::uint8_t {
  measured_anew,
  taken_over  ///< A cell whose document stands is not run again.
};

enum class CellState : std::uint8_t { measured, taken_over, skipped, failed };
const char* name(CellState state);

/// What a cell of the study found.
struct StudyPart {
  std::string label = {};
  CellState state = CellState::measured;
  std::string reason = {};  ///< Why it has no document.
  int exit_code = 0;        ///< Of the run that failed.
  double seconds = 0;
  Document document = {};
  std::string machine = {};  ///< That measured it, where several measured cells.
};
/// As it is told: the cell's name, and the machine where one is named.
std::string part_name(const StudyPart& part);

/// What running cells tells while it does.
struct StudyProgress {
  std::function<void(const std::string& what, double seconds_left)> show;
  InterruptFlag interrupted = nullptr;
  std::vector<std::string> without = {};  ///< Names of this process's environment that cells are not handed on.
};

/// Runs each cell in a process of its own, one after the other: one that dies takes no other with it, and each finds
/// the machine's memory free. Cells that have no real weights where they need them, that come after the budget was
/// spent or after an interrupt are parts with their reason.
std::vector<StudyPart> run_study(const StudyFile& study, std::span<const CellCommand> cells, Kept kept,
                                 const StudyProgress& progress);

/// Names a cell's document among all that are kept: equal where the same program would do the same on the same machine
/// with the same files.
std::string cell_identity(const CellCommand& cell);

/// What a run of the cell takes, told beforehand.
struct CellCost {
  double most_s = 0;            ///< The budgets of its rows together; probing, loading and scoring come on top.
  std::int64_t peak_bytes = 0;  ///< Of its largest row, predicted; 0: not known.
  std::string fault = {};       ///< Why it is not.
};
CellCost expected_cost(const CellCommand& cell, std::span<const StudyOption> options);

/// Answers first: a verdict for each expectation, an answer for each question, what was not measured and which figures
/// are not to be used. `parts`: of any of the study's cells, of several machines too.
Document answers_document(const StudyFile& study, std::span<const StudyPart> parts);

}  // namespace assay
