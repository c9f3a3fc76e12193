#pragma once

#include <span>
#include <string>
#include <vector>

#include "report/phrases.h"
#include "results/table.h"

namespace assay {

/// A row of a table of records.
struct ShownRecord {
  const Record* record = nullptr;
  std::string of = {};  ///< What tells it from rows of the same precision: "batch 1 x 128 tokens"; empty: nothing need.
  double run_s = 0;     ///< Of a phase: all runs of its program together; 0: not known.
};

/// A row for each of these: speed, energy, memory, quality, what ran and how far it can be trusted; of training steps
/// the phases, of programs processor time and power. Columns that hold nothing in any row are left out.
Table results_table(const std::vector<ShownRecord>& rows, const std::string& caption);

/// The tables of records that have figures (status ok), one under each title, in their order.
std::vector<Table> results_tables(std::span<const Record> records);

}  // namespace assay
