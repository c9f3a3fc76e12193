#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "quality/evaluate.h"

namespace assay {

/// Whether the names are tags in IOB2 (Tjong Kim Sang & Veenstra 1999): "O", and "B-KIND" or "I-KIND" of some kinds.
bool are_entity_tags(std::span<const std::string> names);

/// F1 over whole entities, all kinds together: of the entities in targets and answers, those that agree in kind, first
/// and last word are right. An entity begins at a B, and at an I behind a tag of another kind or none, as seqeval
/// counts (github.com/chakki-works/seqeval, its usual mode). `quality` is of a set with those tags; its windows are the
/// sentences. 0 where neither side has an entity.
double entity_f1(const QualityRows& quality, std::span<const std::string> tags);

}  // namespace assay
