#pragma once

#include <unistd.h>

#include "base/handle.h"

namespace assay {

/// An open file of this process.
using Descriptor = Handle<int, ::close, -1>;

}  // namespace assay
