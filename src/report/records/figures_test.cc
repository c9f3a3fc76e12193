#include "report/records/figures.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "results/made_up_test.h"

namespace assay {
namespace {

/// One subject of these records.
class FiguresOf {
 public:
  explicit FiguresOf(std::vector<Record> records) {
    source_.document.records = std::move(records);
    all_ = subjects(std::span(&source_, 1));
  }
  const ReportSubject& subject() const { return all_.front(); }

 private:
  ReportSource source_{"a.json", {}};
  std::vector<ReportSubject> all_;
};

std::vector<std::string> labels_of(const Figure::Series& series) {
  std::vector<std::string> labels;
  labels.reserve(series.points.size());
  for (const Figure::Point& point : series.points) labels.push_back(point.label);
  return labels;
}

TEST(PanelFigures, SetTheBaselineApartAndSayItsInterval) {
  std::vector<Record> records = made_up_cell();
  records.push_back(made_up_left_out("fp8", Status::unsupported, "no such instruction"));
  const FiguresOf made(records);
  const std::vector<Figure> figures = panel_figures(std::span(&made.subject(), 1));
  ASSERT_EQ(figures.size(), 6U);
  const Figure& latency = figures[0];
  EXPECT_EQ(latency.y.categories, (std::vector<std::string>{"fp32", "mixed-bf16", "bf16", "int8"}));
  const Figure::Point& baseline = latency.series[0].points[0];
  EXPECT_TRUE(baseline.is_hollow);
  EXPECT_EQ(baseline.words, "fp32 (baseline): 150 [149, 151]");
  EXPECT_FALSE(latency.series[0].points[1].is_hollow);
  EXPECT_EQ(figures[1].references[0].points[0].x, 1);
  EXPECT_EQ(figures[2].reason, "no meter: /sys/class/powercap is absent");
  EXPECT_EQ(figures[4].x.title, "perplexity (lower is better)");
  EXPECT_NEAR(*figures[4].series[0].points[3].high, 18.43 * std::exp(0.004), 1e-9);
}

TEST(PanelFigures, RowsOfLowGradeLookLikeIt) {
  std::vector<Record> records = made_up_cell();
  for (Record& record : records) record.grade.trust = Trust::b;
  EXPECT_EQ(panel_figures(std::span(&FiguresOf(records).subject(), 1))[0].legend.find("grade"), std::string::npos);
  records[1].grade.trust = Trust::d;
  const FiguresOf made(records);
  const Figure latency = panel_figures(std::span(&made.subject(), 1))[0];
  EXPECT_FALSE(latency.series[0].points[0].is_faint);
  EXPECT_TRUE(latency.series[0].points[1].is_faint);
  EXPECT_NE(latency.series[0].points[1].words.find("(grade D)"), std::string::npos);
  EXPECT_NE(latency.legend.find("grade C or D"), std::string::npos);
}

/// Perplexities and accuracies have no axis in common.
TEST(PanelFigures, EachMeasureOfQualityHasAChartOfItsOwn) {
  std::vector<Record> records = made_up_cell();
  for (Record record : made_up_cell()) {
    record.setting.model = "classifier";
    record.quality.made().perplexity.reset();
    record.quality.made().accuracy = 0.9;
    records.push_back(record);
  }
  ReportSource source{"a.json", {}};
  source.document.records = records;
  const std::vector<ReportSubject> all = subjects(std::span(&source, 1));
  ASSERT_EQ(all.size(), 2U);
  const std::vector<Figure> figures = panel_figures(all);
  ASSERT_EQ(figures.size(), 7U);
  EXPECT_EQ(figures[4].x.title, "perplexity (lower is better)");
  EXPECT_EQ(figures[5].x.title, "accuracy, % (higher is better)");
  for (int i : {4, 5})
    EXPECT_EQ(figures[static_cast<std::size_t>(i)].series.size(), 1U) << "of the models that have it";
}

TEST(ParetoFigures, KeepWhatNothingElseBeatsInBoth) {
  std::vector<Record> records;
  for (const auto& [precision, cost, gain] : {std::tuple("fp32", 100, 90),
                                              std::tuple("bf16", 50, 90),
                                              std::tuple("int8", 20, 80),
                                              {"slow", 60, 70},
                                              {"twin", 20, 80}}) {
    Record& record = records.emplace_back(made_up_record(precision, cost));
    record.quality.made().perplexity.reset();
    record.quality.made().accuracy = gain / 100.0;
  }
  const FiguresOf made(records);
  const Figure figure = pareto_figures(made.subject())[0];
  EXPECT_EQ(labels_of(figure.series[0]), (std::vector<std::string>{"int8", "twin", "bf16"}));
  EXPECT_EQ(labels_of(figure.series[1]), (std::vector<std::string>{"slow", "fp32"}));
  EXPECT_EQ(figure.references[0].points.size(), 5U)
      << "a step between two points, none between equal ones but its ends";
}

TEST(RooflineFigure, UntimedOperationsStandAtTheirBound) {
  Record record = made_up_record("fp32", 100);
  EXPECT_EQ(roofline_figure(record).reason, "the ledger holds no FLOPs and bytes of single operations");
  record.evidence.operation_bytes = {1e8, 1e8, 3.4e10};
  const Figure bound = roofline_figure(record);
  ASSERT_EQ(bound.series[0].points.size(), 2U) << "two operations are alike";
  EXPECT_EQ(bound.series[0].points[0].label, "2 x linear");
  EXPECT_NEAR(bound.series[0].points[0].x, 3.4e10 / 3 / 1e8, 1e-9);
  EXPECT_NEAR(bound.series[0].points[0].y, 377, 1e-9) << "the peak";
  EXPECT_NEAR(bound.series[0].points[1].y, 20.0 / 3, 1e-9) << "the bandwidth";
  record.evidence.operation_ms = {100, 200, 50};
  EXPECT_NEAR(roofline_figure(record).series[0].points[0].y, 2 * 3.4e10 / 3 / 0.3e9, 1e-9);
}

TEST(SamplesFigure, SaysWhatItLeavesOut) {
  const FiguresOf made(made_up_cell());
  const Figure all = samples_figure(made.subject(), 200);
  EXPECT_EQ(all.y.categories.size(), 4U);
  EXPECT_EQ(all.series[1].points.size(), 160U);
  EXPECT_EQ(all.legend.find("th sample is drawn"), std::string::npos);
  const Figure thinned = samples_figure(made.subject(), 10);
  EXPECT_EQ(thinned.series[1].points.size(), 40U);
  EXPECT_NE(thinned.legend.find("every 4th sample is drawn"), std::string::npos);
}

TEST(MemoryFigure, RecordsWithEqualValuesShareALine) {
  std::vector<Record> records = made_up_cell();
  records[0].memory.made().live_bytes = records[2].memory.made().live_bytes = {1e6, 3e6, 2e6};
  records[3].memory.made().live_bytes = std::vector<double>(1000, 5e6);
  const FiguresOf made(records);
  const Figure figure = memory_figure(made.subject());
  ASSERT_EQ(figure.series.size(), 2U);
  EXPECT_TRUE(figure.series[0].name.starts_with("fp32, bf16: peak 3.00 MB of buffers")) << figure.series[0].name;
  ASSERT_EQ(figure.series[0].points.size(), 4U);
  EXPECT_EQ(figure.series[0].points[3].x, 3) << "the last one is kept to its end";
  EXPECT_LE(figure.series[1].points.size(), 401U);
  EXPECT_EQ(power_figure(made.subject()).reason, "no meter: /sys/class/powercap is absent");
}

}  // namespace
}  // namespace assay
