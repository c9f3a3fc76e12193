#pragma once

#include <vector>

#include "model/quantised.h"
#include "model/quantised_parts.h"

namespace assay {

/// How one method keeps a weight.
struct StoredLayout {
  StoredQuantisation::Method method;
  const char* format;  ///< Of compressed-tensors.
  PartEndings endings;
  Part key;  ///< Whose ending says that there is a weight.
  Joined (*join)(const KeptParts& parts, const StoredQuantisation& quantisation);
};

/// All of them.
std::span<const StoredLayout> stored_layouts();

}  // namespace assay
