#pragma once

#include <optional>

#include "model/model.h"

namespace assay {

/// The model with a table of the head's own, of the values of the token embedding that it is tied to: the same
/// function, whose two tables can be changed apart. Absent where no head is tied.
std::optional<Model> with_own_head(const Model& model);

}  // namespace assay
