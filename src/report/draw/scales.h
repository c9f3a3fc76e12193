#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "report/draw/figure.h"
#include "report/draw/plot.h"
#include "results/figure.h"

namespace assay {

/// Where the values of a figure lie in its drawing.
struct Scales {
  ChartFrame frame;
  Axis x;
  Axis y;
};

constexpr double flame_height = 18;  ///< Of a row: a line of text, and what parts it from the next.

/// Whether what was measured lies along x, the categories one below the other.
bool lies(const Figure& figure);
/// What was measured at a point, along x or y.
double measured(const Figure& figure, const Figure::Point& point);
/// Whether a scale has a place for what was measured.
bool is_number(const Figure& figure, const Figure::Point& point);

/// Empty where there is no point to draw. `drawn`: the series of `figure` as they are drawn.
std::optional<Scales> scales_of(const Figure& figure, std::span<const Figure::Series> drawn, Breadth breadth);
void draw_axes(Drawing& drawing, const Figure& figure, const Scales& scales);
/// Title and unit.
std::string title_of(const Figure::Axis& axis);

}  // namespace assay
