#pragma once

#include "rules/choice.h"
#include "studies/sensitivity/run.h"
#include "studies/tune/request.h"

namespace assay {

/// How an aim is called, what the search goes by, and what the answer does.
struct AimFacts {
  const char* name;         ///< As --minimise has it.
  const char* unit;         ///< Of its costs.
  const char* better;       ///< Than another: "faster"
  const char* as_good;      ///< As another: "as fast"
  double UnitCost::*fp32;   ///< Of a run of a part or of the whole in fp32, and
  double UnitCost::*low;    ///< in the row: what the search goes by.
  bool is_counted;          ///< Costs are counts: no two runs differ in them.
  ChoiceQuestion question;  ///< What the answer goes by, of the last timing.
};
const AimFacts& facts_of(Aim aim);

}  // namespace assay
