#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "base/interrupt.h"
#include "studies/sensitivity/alone.h"
#include "studies/sensitivity/run.h"

namespace assay {

/// A window that is long enough for the meter, s.
double energy_window_s(const Power& power);
/// Such windows of each thing whose joules are read (joules_of_each).
inline constexpr std::size_t windows_of_each = 2;

/// Joules of one run of each, repeated in such windows: in the order A B B A, and one in which others were busy, or
/// that was slower than the runs before, once or twice more (measure_energy_apart). Empty after an interrupt. Throws a
/// lacking error where the meter stands still or stops answering.
std::vector<Joules> joules_of_each(const Power& power, std::span<const std::function<void()>> runs,
                                   InterruptFlag interrupted);

/// The same of whole runs over a batch in each of the precisions, operation by operation.
std::vector<Joules> joules_of_wholes(const StudiedModel& subject, const QualityBatch& batch,
                                     std::span<const PrecisionChoice* const> choices, const Power& power);
/// Linear layers whose work is the same, by their places among the units.
using AlikeLayers = std::vector<std::size_t>;
/// Of one of such layers in each of the precisions, the mean of all: they run in turn, each on its own weights.
std::vector<Joules> joules_of_layers(const StudiedModel& subject, const AlikeLayers& alike, const LayerInput& input,
                                     std::span<const PrecisionChoice* const> choices, const Power& power);

/// What runs of that batch take by the meter, into UnitCost of the last unit, the whole: in fp32 and in each row,
/// operation by operation. After measure_costs(). Ends at an interrupt; throws as joules_of_each().
void measure_whole_energy(const StudiedModel& subject, const QualityBatch& batch, const Power& power,
                          ModelSensitivity& study);
/// The same of each linear layer. Layers of one role, one shape and one stored dtype are alike (joules_of_layers), so
/// that their weights come from where a run finds them; each takes the mean.
void measure_energy_of_layers(const StudiedModel& subject, const QualityBatch& batch, const Power& power,
                              ModelSensitivity& study);

}  // namespace assay
