#pragma once

#include <string>

#include "results/figure.h"

namespace assay {

/// A `figure` of a page: legend, drawing, caption. One without points says so.
std::string figure_html(const Figure& figure);

/// The drawing as an SVG file of its own, with the page's colours in it.
std::string figure_svg(const Figure& figure);

}  // namespace assay
