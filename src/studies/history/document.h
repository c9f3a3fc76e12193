#pragma once

#include <span>
#include <vector>

#include "results/document.h"
#include "results/store.h"

namespace assay {

/// Records as they follow from their samples, judged anew, each among those of its run: a store is evidence, too.
std::vector<StoredRecord> believed_history(std::vector<StoredRecord> records);

/// What was measured before, a row a record, the runs below. What is not as it was written is marked.
Document to_document(std::span<const StoredRecord> records, std::span<const StoredRun> runs);

}  // namespace assay
