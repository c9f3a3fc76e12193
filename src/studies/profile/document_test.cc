#include <gtest/gtest.h>

#include "base/json.h"
#include "hardware/facts_testing.h"
#include "studies/profile/run.h"

namespace assay {
namespace {

TEST(ProfileDocument, HoldsEveryStepOfEveryProfileAndAFlameOfAllTime) {
  ProfileRequest request;
  request.model = ASSAY_SOURCE_DIR "/tests/fixtures/models/gpt2";
  request.precision = "bf16";
  request.against = "fp32";
  request.mode = RunMode::train;
  request.extent = {2, 16};
  request.rounds = 4;
  const ProfileStudy study = profile_study(request, two_thread_facts());
  const OrderedJson json = to_json(to_document(study));
  EXPECT_EQ(json["profile"]["steps"].size(), study.profile.steps.size());
  EXPECT_EQ(json["against"]["steps"].size(), study.against->steps.size());
  EXPECT_EQ(json["inference"]["mode"], "infer");
  EXPECT_GT(json["profile"]["untraced"]["backward_ms"].get<double>(), 0);
  EXPECT_EQ(json["profile"]["counts"]["steps"], study.profile.steps.size());
  EXPECT_FALSE(json["amdahl"].empty());
  const OrderedJson& flames = json["document"]["figures"][0]["series"][0]["points"];
  EXPECT_DOUBLE_EQ(flames[0]["value"].get<double>(), study.profile.steps_ms());
  double phases_ms = 0;
  for (const OrderedJson& flame : flames) phases_ms += flame["y"] == 1.0 ? flame["value"].get<double>() : 0;
  EXPECT_NEAR(phases_ms, study.profile.steps_ms(), 1e-9);
}

TEST(ProfileDocument, OfSeveralCellsHasATableOfThemAndASentenceOnTheirTrend) {
  ProfileGrid grid;
  grid.each.rounds = 6;
  grid.models = {ASSAY_SOURCE_DIR "/tests/fixtures/models/gpt2"};
  grid.seqs = {8, 24};
  const std::vector<ProfileStudy> studies = profile_studies(grid, two_thread_facts());
  ASSERT_EQ(studies.size(), 2U);
  const OrderedJson json = to_json(to_document(studies));
  ASSERT_EQ(json["cells"].size(), 2U);
  EXPECT_EQ(json["cells"][1]["seq"], 24);
  EXPECT_FALSE(json["cells"][1]["trust"].is_null()) << "a profile has a grade as any row has";
  EXPECT_EQ(json["cells"][1]["profile"]["steps"].size(), studies[1].profile.steps.size());
  ASSERT_EQ(json["growth"].size(), 1U);
  EXPECT_NE(json["growth"][0].get<std::string>().find("from 8 to 24 tokens"), std::string::npos) << json["growth"][0];
  EXPECT_EQ(json["document"]["figures"].size(), 2U);
}

}  // namespace
}  // namespace assay
