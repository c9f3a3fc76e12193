#include "results/figure.h"

namespace assay {

const char* name(FigureKind kind) {
  constexpr const char* names[] = {"lines",    "scatter", "bars",  "boxes", "heat_map",
                                   "timeline", "flame",   "steps", "dots"};
  return names[static_cast<std::size_t>(kind)];
}

const char* name(Figure::Scale scale) {
  return scale == Figure::Scale::linear ? "linear" : "logarithmic";
}

const char* name(Figure::Mark mark) {
  constexpr const char* names[] = {"filled", "dot", "whisker", "band"};
  return names[static_cast<std::size_t>(mark)];
}

}  // namespace assay
