#include "report/draw/labels.h"

#include <algorithm>

namespace assay {
namespace {

constexpr double letter_height = 11;
constexpr double point_radius = 5;
constexpr double gap = 8;

/// Where a text may stand, from its point.
struct Place {
  double dx;
  double dy;
  Anchor anchor;
};
constexpr Place places[] = {{gap, 4, Anchor::start},  {-gap, 4, Anchor::end},   {0, -9, Anchor::middle},
                            {0, 18, Anchor::middle},  {gap, -7, Anchor::start}, {gap, 15, Anchor::start},
                            {-gap, -7, Anchor::end},  {-gap, 15, Anchor::end},  {gap, -19, Anchor::start},
                            {gap, 27, Anchor::start}, {-gap, -19, Anchor::end}, {-gap, 27, Anchor::end}};

}  // namespace

void Labels::add_point(double x, double y) {
  taken_.push_back({x - point_radius, y - point_radius, x + point_radius, y + point_radius});
}

bool Labels::is_free(const Box& box) const {
  if (box.left < frame_.left() + 2 || box.right > frame_.width - 2) return false;
  if (box.top < frame_.top() || box.bottom > frame_.bottom()) return false;
  return std::none_of(taken_.begin(), taken_.end(), [&](const Box& other) {
    return box.left < other.right && other.left < box.right && box.top < other.bottom && other.top < box.bottom;
  });
}

bool Labels::place(Drawing& drawing, double x, double y, std::string_view text) {
  const double width = text_width(text);
  for (const Place& place : places) {
    const double at = x + place.dx;
    const double left = place.anchor == Anchor::start ? at : place.anchor == Anchor::end ? at - width : at - width / 2;
    const Box box{left, y + place.dy - letter_height + 1, left + width, y + place.dy + 2};
    if (!is_free(box)) continue;
    taken_.push_back(box);
    drawing.text(at, y + place.dy, place.anchor, text, "val");
    return true;
  }
  return false;
}

}  // namespace assay
