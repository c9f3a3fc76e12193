#pragma once

// All that is known of a row: what it prints, what its table and its model say, and what follows. Only for
// src/published.

#include <map>
#include <string>

#include "published/published_table.h"

namespace assay {

/// A figure in the base unit of its quantity (ms, J, W, bytes), and how it is known: "32 J", or "40 W x 80 ms = 3.2 J".
struct KnownFigure {
  Range range;
  std::string words;
  const Measured* printed = nullptr;  ///< null: it was said elsewhere, or follows.
};

class RowFigures {
 public:
  RowFigures(const PublishedTable& table, const Observation& row);

  const KnownFigure* find(Quantity quantity) const;
  void add(Quantity quantity, KnownFigure figure) { figures_.emplace(quantity, std::move(figure)); }

 private:
  void add_printed(const Observation& row);
  void add_said(const PublishedTable& table, const Observation& row);

  std::map<Quantity, KnownFigure> figures_;
};

/// With all that follows from what is known, by the relations that hold of any row.
RowFigures figures_of(const PublishedTable& table, const Observation& row);
/// Whether words around the row hold one of `words`, which are in lower case.
bool page_says(const PublishedTable& table, const Observation& row, std::initializer_list<std::string_view> words);
/// Cards that share the work: a column, or "4x A100", "TP=2" in the words around.
double devices_of(const PublishedTable& table, const Observation& row);

}  // namespace assay
