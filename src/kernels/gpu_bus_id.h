#pragma once

#include <string>

namespace assay {

/// PCI bus id of the GPU that the cuda backend runs on, "0000:3B:00.0": which of the machine's boards a meter has to
/// read. Empty where there is none.
std::string gpu_bus_id();

}  // namespace assay
