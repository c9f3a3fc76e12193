#include "report/draw/plot.h"

#include <gtest/gtest.h>

#include <cmath>

#include "report/draw/figure.h"
#include "report/draw/labels.h"

namespace assay {
namespace {

TEST(Axis, TicksAreRoundAndWithinTheSpan) {
  for (const auto& [low, high] : {std::pair(0.0, 557.0), {0.0, 5.89}, {47.9, 51.2}, {-3.0, 11.0}, {0.0, 1e-4}}) {
    const Axis axis = make_axis(ScaleKind::linear, {low, high, 0, 100, 5});
    ASSERT_GE(axis.ticks.size(), 2U) << low << " " << high;
    ASSERT_LE(axis.ticks.size(), 6U) << low << " " << high;
    for (const double tick : axis.ticks) {
      EXPECT_GE(axis.at(tick), -1e-6);
      EXPECT_LE(axis.at(tick), 100 + 1e-6);
    }
  }
}

TEST(Axis, LogarithmicTicksGrowByFactors) {
  const Axis axis = make_axis(ScaleKind::logarithmic, {0.3, 4000, 0, 100, 6});
  ASSERT_GE(axis.ticks.size(), 2U);
  for (std::size_t i = 1; i < axis.ticks.size(); ++i) EXPECT_GE(axis.ticks[i] / axis.ticks[i - 1], 1.2);
  EXPECT_DOUBLE_EQ(axis.at(0.3), 0);
  EXPECT_DOUBLE_EQ(axis.at(4000), 100);
}

TEST(Axis, ASpanWithoutWidthIsWidened) {
  const Axis axis = make_axis(ScaleKind::linear, {48, 48, 0, 100, 5});
  EXPECT_NEAR(axis.at(48), 50, 1e-9);
}

TEST(Labels, DoNotOverlapAndStayInside) {
  Labels labels({.width = 100, .height = 40});
  Drawing drawing(100, 40);
  for (int i = 0; i < 3; ++i) labels.add_point(20, 20);
  EXPECT_TRUE(labels.place(drawing, 20, 20, "bf16"));
  EXPECT_TRUE(labels.place(drawing, 20, 20, "fp16"));
  int placed = 2;
  for (int i = 0; i < 20; ++i) placed += labels.place(drawing, 20, 20, "int8-weights") ? 1 : 0;
  EXPECT_LT(placed, 6) << "there is room for few";
}

TEST(Axis, LargeNumbersThatDifferLittleHaveFewTicks) {
  EXPECT_LE(make_axis(ScaleKind::linear, {1e17, 1e17 + 32, 0, 100, 5}).ticks.size(), 6U);
}

TEST(Axis, WithinADecadeLogarithmicTicksAreRoundToo) {
  const Axis axis = make_axis(ScaleKind::logarithmic, {18.2, 18.45, 0, 100, 5});
  ASSERT_GE(axis.ticks.size(), 2U);
  EXPECT_EQ(plain_number(axis.ticks.front()), "18.2");
}

/// Two bars, one below the other.
Figure lying_bars() {
  Figure figure{.kind = FigureKind::bars, .caption = "Bars", .y = {.categories = {"upper", "lower"}}};
  figure.series = {
      {.points = {{.x = 10, .y = 0, .label = "ten"}, {.x = 1000, .y = 1, .is_hollow = true, .is_faint = true}}}};
  return figure;
}

TEST(Figures, CategoriesOnTheVerticalAxisAreReadFromTheTop) {
  const std::string html = figure_html(lying_bars());
  EXPECT_LT(html.find(">upper<"), html.find(">lower<"));
  EXPECT_NE(html.find(">ten<"), std::string::npos) << "labels are written";
  EXPECT_NE(html.find("class=\"s0 hollow faint\""), std::string::npos);
  EXPECT_NE(html.find("<title>: lower, 1,000</title>"), std::string::npos) << html;
}

TEST(Figures, WhatLiesBeyondAnAxisStandsAtItsEdge) {
  Figure figure = lying_bars();
  figure.x.high = 20;
  const std::string html = figure_html(figure);
  EXPECT_EQ(html.find(">500<"), std::string::npos) << "no tick beyond 20";
  EXPECT_NE(html.find(">20<"), std::string::npos) << html;
}

TEST(Figures, ALabelOfWhatIsNoNumberStandsAloneAndReasonsStandForNothing) {
  Figure figure = lying_bars();
  figure.series[0].points[0] = {.x = NAN, .y = 0, .label = "oom"};
  EXPECT_NE(figure_html(figure).find("class=\"mute\">oom<"), std::string::npos);
  figure.series[0].points.pop_back();
  figure.reason = "no <meter>";
  EXPECT_NE(figure_html(figure).find("<p class=\"none\">no &lt;meter&gt;</p>"), std::string::npos);
}

}  // namespace
}  // namespace assay
