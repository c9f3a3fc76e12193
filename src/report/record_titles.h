#pragma once

#include <string>

#include "report/phrases.h"

namespace assay {

/// "batch 1 x 128 tokens", "phase load, 1 item a time": what distinguishes cells of one table.
std::string cell_title(const Record& record);
/// "smollm2-135m (134,515,008 parameters, stored as bf16), cpu, 2 threads", and what is not
/// as in inference.
std::string model_title(const Record& record);
/// The precision's name with the phase of a program, and a star where a resumed run took the row from the store.
std::string shown_precision(const Record& record);

}  // namespace assay
