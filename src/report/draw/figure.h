#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "results/figure.h"

namespace assay {

/// How much of a page's width a figure takes.
enum class Breadth : std::uint8_t { full, half, third };

/// A `figure` of a page: caption, names of the series, drawing, legend. One without points says why.
std::string figure_html(const Figure& figure, Breadth breadth = Breadth::full);

/// Drawings one below the other, each under its caption, as an SVG file of its own with the page's colours in it.
std::string figures_svg(std::span<const Figure> figures);

}  // namespace assay
