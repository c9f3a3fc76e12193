#pragma once

#include "results/document.h"

namespace assay {

/// What the document's records of generation say together, in sentences: what binds each phase, what fewer bytes can
/// gain at most, from which batch on decoding is no longer bound by memory; and charts of tokens a second over depth
/// and batch.
void tell_generation(Document& document);

}  // namespace assay
