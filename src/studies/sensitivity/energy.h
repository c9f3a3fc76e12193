#pragma once

#include <functional>

#include "studies/sensitivity/run.h"

namespace assay {

/// A window that is long enough for the meter, s.
double energy_window_s(const Power& power);
/// Joules of one run, repeated in such a window. Throws a lacking error where the meter stands still or stops
/// answering.
Joules joules_of(const Power& power, const std::function<void()>& run);

/// What runs of that batch take by the meter, into UnitCost of the last unit, the whole: in fp32 and in each row,
/// operation by operation. After measure_costs(). Ends at an interrupt; throws as joules_of().
void measure_whole_energy(const StudiedModel& subject, const QualityBatch& batch, const Power& power,
                          ModelSensitivity& study);
/// The same of each linear layer. Layers of one role, one shape and one stored dtype run in turn within one window,
/// each on its own weights, so that these come from where a run finds them; each takes the mean.
void measure_energy_of_layers(const StudiedModel& subject, const QualityBatch& batch, const Power& power,
                              ModelSensitivity& study);

}  // namespace assay
