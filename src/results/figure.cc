#include "results/figure.h"

namespace assay {

const char* name(FigureKind kind) {
  constexpr const char* names[] = {"lines", "scatter", "bars", "boxes", "heat_map", "timeline", "flame"};
  return names[static_cast<std::size_t>(kind)];
}

const char* name(Figure::Scale scale) {
  return scale == Figure::Scale::linear ? "linear" : "logarithmic";
}

}  // namespace assay
