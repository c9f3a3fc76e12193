#include "report/subject.h"

#include <gtest/gtest.h>

#include "results/made_up_test.h"

namespace assay {
namespace {

TEST(Subjects, AreNamedByWhatTellsThemApart) {
  ReportSource cpu{"a.json", {}};
  cpu.document.records = made_up_cell();
  EXPECT_EQ(subjects(std::span(&cpu, 1))[0].name, "smollm2-135m, 1 x 128");
  ReportSource gpu{"b.json", {}};
  gpu.document.records = made_up_cell();
  for (Record& record : gpu.document.records) record.setting.device = "cuda";
  const std::vector<ReportSource> both = {cpu, gpu};
  const std::vector<ReportSubject> all = subjects(both);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].name, "cpu");
  EXPECT_EQ(all[1].name, "cuda");
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

TEST(ShownModels, AreTheirLastFoldersAndTheirPathsAreKept) {
  Document document;
  for (const char* model : {"/x/a/model", "/x/b/model", "/x/b/other", "gpt2"}) {
    document.records.push_back(made_up_record("fp32", 10));
    document.records.back().setting.model = model;
  }
  document.records.push_back(made_up_record("A", 10));
  document.records.back().setting.model = "python3 /x/train.py";
  document.records.back().setting.mode = Mode::program;
  const std::vector<ReportSource> given = {{"run.json", document}};
  const std::vector<ReportSource> shown = with_shown_models(given);
  std::vector<std::string> names;
  for (const Record& record : shown[0].document.records) names.push_back(record.setting.model);
  EXPECT_EQ(names, (std::vector<std::string>{"a/model", "b/model", "other", "gpt2", "python3 /x/train.py"}));
  EXPECT_EQ(shown[0].model_paths.at("other"), "/x/b/other");
  EXPECT_FALSE(shown[0].model_paths.contains("gpt2"));
}

}  // namespace
}  // namespace assay
