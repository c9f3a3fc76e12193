#pragma once

#include <optional>
#include <string>

#include "results/document.h"
#include "results/record.h"
#include "results/table.h"
#include "studies/sensitivity/run.h"
#include "studies/tune/request.h"
#include "studies/tune/run.h"

namespace assay {

/// A point with what the last timing found of it.
struct TimedPoint {
  const Tuning& tuning;
  const TunePoint& point;
  const Record* record = nullptr;  ///< Null: it was not timed.
  std::string energy_doubt = {};   ///< Why nothing follows from its joules; empty: they may be used.
};
TimedPoint timed_point(const Tuning& tuning, const TunePoint& point, const Document& timed);

/// What an aim makes small: how it is called, measured and told.
struct AimFacts {
  const char* name;                                ///< As --minimise has it.
  const char* unit;                                ///< Of its costs.
  const char* better;                              ///< Than another: "faster"
  const char* as_good;                             ///< As another: "as fast"
  double UnitCost::*fp32;                          ///< Of a run of a part or of the whole in fp32, and
  double UnitCost::*low;                           ///< in the row: what the search goes by.
  Table::Cell (*figure)(const TimedPoint& point);  ///< What the answer goes by; absent with why.
};
const AimFacts& facts_of(Aim aim);

/// The number of a figure; absent where there is none.
std::optional<double> figure_number(const Table::Cell& figure);

}  // namespace assay
