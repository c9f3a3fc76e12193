#include <gtest/gtest.h>

#include "report/draw/labels.h"
#include "report/draw/plot.h"
#include "report/records/figures.h"
#include "report/subject.h"
#include "results/made_up_test.h"

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

TEST(Pareto, KeepsWhatNothingElseBeatsInBoth) {
  const std::vector<Tradeoff> all = {
      {"fp32", 100, 90}, {"bf16", 50, 90}, {"int8", 20, 80}, {"slow", 60, 70}, {"twin", 20, 80}};
  EXPECT_EQ(pareto_front(all), (std::vector<std::size_t>{2, 4, 1}));
  EXPECT_TRUE(pareto_front({}).empty());
}

TEST(Subjects, AreNamedByWhatTellsThemApart) {
  ReportSource cpu{"a.json", {}};
  cpu.document.records = made_up_cell();
  EXPECT_EQ(subjects(std::span(&cpu, 1))[0].name, "smollm2-135m, 1 x 128");
  ReportSource gpu{"b.json", {}};
  gpu.document.records = made_up_cell();
  for (Record& record : gpu.document.records) record.setting.device = "cuda";
  const std::vector<ReportSource> both = {cpu, gpu};
  const std::vector<ReportSubject> told = subjects(both);
  ASSERT_EQ(told.size(), 2U);
  EXPECT_EQ(told[0].name, "cpu");
  EXPECT_EQ(told[1].name, "cuda");
  const std::vector<ReportSource> again = {cpu, cpu};
  EXPECT_EQ(subjects(again)[1].name, "a.json") << "nothing but the file differs";
}

TEST(Subjects, ModelsAreComparedShapeByShapeWhereTheyAreMany) {
  ReportSource source{"a.json", {}};
  for (const char* model : {"gpt2", "distilbert-base", "toy"}) {
    for (const std::int64_t batch : {1, 8}) {
      Record record = made_up_record("fp32", 100);
      record.setting.model = model;
      record.setting.batch = batch;
      source.document.records.push_back(record);
    }
  }
  const std::vector<ReportSubject> all = subjects(std::span(&source, 1));
  const auto groups = figure_groups(all, 4);
  ASSERT_EQ(groups.size(), 2U);
  for (const auto& group : groups) {
    ASSERT_EQ(group.size(), 3U);
    for (const ReportSubject& subject : group)
      EXPECT_EQ(subject.records[0]->setting.batch, group[0].records[0]->setting.batch);
  }
}

}  // namespace
}  // namespace assay
