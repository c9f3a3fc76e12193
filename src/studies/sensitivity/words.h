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
/// What differs between models: which role costs most, and with what KL rises or falls. Nothing of one model.
std::vector<std::string> sentences_between(const std::vector<ModelSensitivity>& studies);

/// relations.cc: sensitivity of linear layers against what might explain or foretell it.
Table correlations_table(const std::vector<ModelSensitivity>& studies);
/// With what KL rises or falls, and with what no relation is shown: a sentence for each model and precision.
std::vector<std::string> relation_sentences(const std::vector<ModelSensitivity>& studies);
/// "depth: falls with it in A, none shown in B", of those that models differ in.
std::vector<std::string> relation_differences(const std::vector<ModelSensitivity>& studies,
                                              const std::string& precision);

/// figures.cc: a heat map of each model's layers; models side by side by depth and by role, with each role's shares of
/// time and bytes and the outliers that reach each layer; estimates against what was measured.
std::vector<Figure> figures_of(const std::vector<ModelSensitivity>& studies);

}  // namespace assay
