#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "studies/memory.h"
#include "studies/svg.h"

namespace assay {
namespace {

constexpr double width = 960;
constexpr double chart_height = 120;
constexpr double row_height = 170;
constexpr double left = 20;

/// What is stacked, from below.
struct Band {
  const char* name;
  const char* colour;
  std::int64_t (*bytes)(const MemoryCell& cell, const MemoryMoment& moment);
};
constexpr Band bands[] = {
    {"weights, copies, gradients, optimizer", "#9aa7b8",
     [](const MemoryCell& cell, const MemoryMoment&) { return cell.persistent_bytes(); }},
    {"saved for backward", "#d9822b", [](const MemoryCell&, const MemoryMoment& m) { return m.saved_bytes; }},
    {"temporaries", "#4a7fb5", [](const MemoryCell&, const MemoryMoment& m) { return m.live_bytes - m.saved_bytes; }},
    {"workspace", "#7fb069", [](const MemoryCell&, const MemoryMoment& m) { return m.workspace_bytes; }},
};

std::int64_t top_of(const MemoryCell& cell, const MemoryMoment& moment, std::size_t bands_below) {
  std::int64_t total = 0;
  for (std::size_t i = 0; i < bands_below; ++i) total += bands[i].bytes(cell, moment);
  return total;
}

/// The area between two stacks as one closed path of steps.
std::string band_path(const MemoryCell& cell, std::size_t band, double base_y) {
  const double step = (width - 2 * left) / static_cast<double>(cell.timeline.size());
  const double scale = chart_height / static_cast<double>(std::max<std::int64_t>(cell.total_bytes, 1));
  std::string there = "M";
  std::string back;
  for (std::size_t i = 0; i < cell.timeline.size(); ++i) {
    const double x = left + step * static_cast<double>(i);
    const double upper = base_y - scale * static_cast<double>(top_of(cell, cell.timeline[i], band + 1));
    const double lower = base_y - scale * static_cast<double>(top_of(cell, cell.timeline[i], band));
    there += fmt::format("{:.1f} {:.2f}L{:.1f} {:.2f}L", x, upper, x + step, upper);
    back = fmt::format("{:.1f} {:.2f}L{:.1f} {:.2f}{}{}", x + step, lower, x, lower, back.empty() ? "" : "L", back);
  }
  return fmt::format("<path d=\"{}{}Z\" fill=\"{}\"/>\n", there, back, bands[band].colour);
}

std::string chart(const MemoryCell& cell, double y) {
  std::string text = fmt::format(
      "<text x=\"{}\" y=\"{:.0f}\" font-weight=\"bold\">{}</text>\n", left, y + 18,
      escaped(fmt::format("{}, {} x {}, recompute {}: {} {}", cell.precision, cell.extent.batch, cell.extent.seq,
                          name(cell.recompute), format_bytes(static_cast<double>(cell.peak_bytes())), cell.reason)));
  const double base_y = y + 28 + chart_height;
  for (std::size_t band = 0; band < std::size(bands); ++band) text += band_path(cell, band, base_y);
  for (std::size_t i = 1; i < cell.timeline.size(); ++i) {
    if (cell.timeline[i].phase == cell.timeline[i - 1].phase) continue;
    const double x = left + (width - 2 * left) * static_cast<double>(i) / static_cast<double>(cell.timeline.size());
    text += fmt::format(
        "<path d=\"M{0:.1f} {1:.0f}V{2:.0f}\" stroke=\"#333\" stroke-dasharray=\"3 3\"/>"
        "<text x=\"{3:.1f}\" y=\"{4:.0f}\">{5}</text>\n",
        x, base_y - chart_height, base_y, x + 4, base_y - chart_height + 10, cell.timeline[i].phase);
  }
  return text;
}

std::string memory_legend(double y) {
  std::string text;
  double x = left;
  for (const Band& band : bands) {
    text += fmt::format(
        "<rect x=\"{0}\" y=\"{1}\" width=\"12\" height=\"12\" fill=\"{2}\"/>"
        "<text x=\"{3}\" y=\"{4}\">{5}</text>\n",
        x, y, band.colour, x + 16, y + 11, band.name);
    x += 240;
  }
  return text;
}

}  // namespace

std::string memory_svg(const MemoryStudy& study) {
  std::string charts;
  double y = 60;
  for (const MemoryCell& cell : study.cells) {
    if (cell.fits == Fits::unsupported || cell.timeline.empty()) continue;
    charts += chart(cell, y);
    y += row_height;
  }
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
      "<text x=\"{2}\" y=\"22\" font-size=\"15\">{3}</text>\n{4}{5}</svg>\n",
      width, y, left,
      escaped(fmt::format("{}: bytes over the steps of {}", study.model,
                          study.mode == RunMode::infer ? "a forward pass" : "a training step")),
      memory_legend(32), charts);
}

}  // namespace assay
