#pragma once

#include <string_view>
#include <vector>

#include "report/draw/plot.h"

namespace assay {

/// Puts names beside the points of a chart so that no two overlap: to the right, left, above or below, and where there
/// is room nowhere, not at all. Points first, then names.
class Labels {
 public:
  /// Names stay within the axes, or the margin on their right.
  explicit Labels(const ChartFrame& frame) : frame_(frame) {}

  /// A point that names must not cover.
  void add_point(double x, double y);
  /// False where there was no room.
  bool place(Drawing& drawing, double x, double y, std::string_view text);

 private:
  struct Box {
    double left;
    double top;
    double right;
    double bottom;
  };
  bool is_free(const Box& box) const;

  ChartFrame frame_;
  std::vector<Box> taken_;
};

}  // namespace assay
