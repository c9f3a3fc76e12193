#pragma once

#include <string>

#include "base/json_fwd.h"

namespace assay {

/// The machine of a document in sentences, as far as it says something.
std::string machine_paragraph(const OrderedJson& machine);

}  // namespace assay
