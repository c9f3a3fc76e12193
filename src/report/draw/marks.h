#pragma once

#include <span>
#include <string>

#include "report/draw/scales.h"

namespace assay {

/// What is measured, and the lines that it is compared with. `all`: the series of `figure` as they are drawn.
void draw_series(Drawing& drawing, const Figure& figure, std::span<const Figure::Series> all, const Scales& scales);
/// What stands beside the name of a series, 26 wide and 14 high.
void draw_swatch(Drawing& drawing, const Figure& figure, std::size_t number, double x);
/// What is said of a point.
std::string words_of(const Figure& figure, const Figure::Series& series, const Figure::Point& point);

}  // namespace assay
