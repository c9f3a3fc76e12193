#pragma once

#include <string>
#include <vector>

#include "results/figure.h"
#include "results/table.h"
#include "studies/sensitivity/run.h"

namespace assay {

/// In the order of the rows.
std::vector<std::string> precisions_of(const ModelSensitivity& study);

/// Linear layers and embeddings in a precision that were reached, the worst alone first.
std::vector<const UnitRow*> ranked(const ModelSensitivity& study, const std::string& precision);

/// sentences.cc: what the figures of a model say, what was predicted, and what is missing.
std::vector<std::string> sentences_of(const ModelSensitivity& study);

/// relations.cc: sensitivity of linear layers against what might explain or foretell it.
Table correlations_table(const std::vector<ModelSensitivity>& studies);

/// figures.cc: a heat map of each model's layers; models side by side by depth and by role; estimates against what was
/// measured.
std::vector<Figure> figures_of(const std::vector<ModelSensitivity>& studies);

}  // namespace assay
