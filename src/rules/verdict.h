#pragma once

#include <span>
#include <string>
#include <vector>

#include "results/document.h"

namespace assay {

// Which of some precisions to take for which aim, and what measuring leaves open. It rests on intervals and grades
// alone: a median that lies lower decides nothing.

/// What one run or one file holds, as the rules judged it.
struct VerdictSource {
  std::span<const Record> records;
  std::span<const Finding> findings;
};

/// The names that a verdict is asked on as the precision table has them, recipes ("recipe:NAME") as they are, each
/// once. Throws a user error for a name that is none, and for fewer than two.
std::vector<std::string> verdict_rows(std::span<const std::string> asked);

/// Adds to the document, in the place of an earlier one, the verdict on those rows: a paragraph for each cell that has
/// one of them, for several batches one on throughput, for several devices or machines one on these, and all figures.
/// Below `verdict` in JSON. The first of `rows` is what proxies are told against. Adds a sentence where no record is of
/// them.
void tell_verdict(std::span<const std::string> rows, std::span<const VerdictSource> sources, Document& document);
/// Of its own records.
void tell_verdict(std::span<const std::string> rows, Document& document);

/// Whether it says in the place of its records what was found: more than a verdict, which stands beside them.
bool tells_in_their_place(const Document& document);

/// The rows that a document has a verdict on; empty: it has none.
std::vector<std::string> rows_of_verdict(const Document& document);
/// Whether one of the records is of one of the rows.
bool has_row_of(std::span<const Record> records, std::span<const std::string> rows);

}  // namespace assay
