#pragma once

#include <optional>

#include "quality/evaluate.h"
#include "studies/sensitivity/run.h"
#include "studies/tune/parts.h"
#include "studies/tune/request.h"

namespace assay {

/// Mean KL of a linear layer alone in a row, foretold: the empirical Fisher estimate of its weight error, times how
/// much larger the relative error of its output is than that of its weight (activations that are rounded too). Absent
/// where gradients foretell none (a head tied to the embedding).
std::optional<double> foretold_kl(const UnitRow& row);

/// Measures what the study needs and no mix: costs of every unit on `timed`, errors on real activations, gradients.
void study_units(const StudiedModel& subject, const QualityBatch& timed, ModelSensitivity& study);

/// Costs and losses of every part and rest in every row. Losses of a row's parts are scaled so that together they are
/// what the row loses as a whole; parts without an estimate are measured alone. Absent after an interrupt.
std::optional<MixChoices> choices_of(const StudiedModel& subject, Aim aim, const ModelSensitivity& study);

}  // namespace assay
