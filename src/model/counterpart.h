#pragma once

#include "model/families.h"
#include "model/model.h"

namespace assay {

/// The family as which other programs can run a model of one that they do not know: the same arithmetic, other names.
struct Counterpart {
  struct Name {
    const char* own;
    const char* other;
  };

  const char* family;                   ///< Its row of families().
  std::span<const Name> whole;          ///< Whole canonical names, and
  std::span<const Name> layer;          ///< what follows "layers.N.": of all parameters.
  TensorNames::Words paired_rows = {};  ///< End own names of what has its rows as rotary pairs (2i, 2i + 1), where the
                                        ///< other family turns (i, i + d/2).
};

/// The model in its family's counterpart, which there is: the same fp32 results but for the order of their sums. It
/// reads the weights of `model` when asked for them, and has no files. A model with adapters is not asked about.
Model as_counterpart(const Model& model);

}  // namespace assay
