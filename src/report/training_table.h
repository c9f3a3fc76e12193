#pragma once

#include <span>
#include <string>

#include "results/document.h"

namespace assay {

/// The end-to-end table of training steps, a line a record and below it the findings, at most 120 columns; UTF-8; ends
/// with a newline.
std::string training_report(const Document& document);

/// The table as such studies publish it: model, context_length, fwd avg/std, bwd avg/std, optimizer avg/std, total
/// avg/std, status, dtype, device, batch_size, fusion, warmup. Times in ms.
std::string training_markdown(std::span<const Record> records);

}  // namespace assay
