#pragma once

#include <optional>
#include <string>

#include "results/table.h"

namespace assay {

// Energy as people read it: a figure whose bound is as large as the figure itself is none, in any format.

/// The figure within its bound, in the same unit; absent with a reason that begins with `what` where the bound leaves
/// no figure. Without a bound it stands alone.
Table::Cell within_bound(const std::string& what, const std::optional<double>& value,
                         const std::optional<double>& bound);

/// Gross energy of one sequence (run, item), its power, and what it is worth, as far as the bound leaves a figure.
bool tells_energy(const Record& record);
std::optional<double> told_energy_j(const Record& record);

Table::Cell energy_cell(const Record& record);
Table::Cell net_energy_cell(const Record& record);
Table::Cell power_cell(const Record& record);
Table::Cell idle_power_cell(const Record& record);

}  // namespace assay
