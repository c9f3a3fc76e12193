#pragma once

#include <vector>

#include "results/document.h"
#include "results/figure.h"
#include "results/record.h"

namespace assay {

/// What the document's records of generation say together, in sentences: what binds each phase, what fewer bytes can
/// gain at most, from which batch on decoding is no longer bound by memory; and its charts.
void tell_generation(Document& document);
/// Tokens a second over depth and over batch, where several were asked for; the time a token as a distribution; both
/// phases under the roofline. `measured`: with figures, at least one.
std::vector<Figure> generation_figures(const std::vector<const Record*>& measured);
/// What its records say of the quality of what was decoded; nothing where nothing was scored.
void tell_decoded(Document& document);

}  // namespace assay
