#pragma once

#include <cstdint>

#include "model/model.h"

namespace assay {

struct FreshHead {
  std::int64_t labels = 2;
  std::uint64_t seed = 1;  ///< Of its random weights.
};

/// The encoder with a new classification head of the family's shape (BERT: pooler and classifier, DistilBERT:
/// pre_classifier and classifier) drawn from the family's initialisation; whatever head it had is left behind. Throws a
/// user error for a language model.
Model with_fresh_head(Model model, const FreshHead& head);

}  // namespace assay
