#pragma once

#include <span>
#include <string>

#include "results/figure.h"

namespace assay {

/// A `figure` of a page: legend, drawing, caption. One without points says so.
std::string figure_html(const Figure& figure);

/// Drawings one below the other, each under its caption, as an SVG file of its own with the page's colours in it.
std::string figures_svg(std::span<const Figure> figures);

}  // namespace assay
