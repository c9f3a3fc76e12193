#pragma once

#include <cstddef>
#include <string>

namespace assay {

/// What is known of a cell's rounds before they begin.
struct Outlook {
  double seconds = 0;        ///< Budget of each precision; spent in common.
  std::size_t subjects = 1;  ///< Precisions.
  double spent_s = 0;        ///< Of the budget, by warming up.
  double round_s = 0;        ///< A run of each precision, or the least that it can take.
};

/// That fewer rounds fit into the budget than an interval needs, so that all rows will have grade D, and which
/// `--seconds` is enough; empty where enough fit.
std::string too_few_rounds(const Outlook& outlook);

}  // namespace assay
