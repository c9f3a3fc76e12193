#pragma once

#include <span>
#include <vector>

#include "results/figure.h"
#include "results/record.h"

namespace assay {

/// Whether they are the same step after warm-ups that may differ.
bool same_but_for_warm_up(const Record& a, const Record& b);

/// What several lengths of warm-up do to the figures of a step, and the steps themselves in their order, the first ones
/// among them. None where no step was timed after two lengths of warm-up.
std::vector<Figure> warm_up_figures(std::span<const Record> records);

}  // namespace assay
