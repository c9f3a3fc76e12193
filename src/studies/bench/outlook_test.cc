#include "studies/bench/outlook.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

TEST(Outlook, SaysHowManySecondsAnIntervalNeeds) {
  const std::string said = too_few_rounds({.seconds = 1, .subjects = 4, .spent_s = 0.8, .round_s = 3});
  EXPECT_NE(said.find("leaves time for 2; 6 give an interval"), std::string::npos) << said;
  EXPECT_NE(said.find("--seconds 6 is enough"), std::string::npos) << said;
  // What it asks for is enough even where warming up takes all that it may.
  EXPECT_EQ(too_few_rounds({.seconds = 6, .subjects = 4, .spent_s = 0.2 * 24, .round_s = 3}), "");
}

TEST(Outlook, IsSilentWhereRoundsSufficeOrNothingIsKnown) {
  EXPECT_EQ(too_few_rounds({.seconds = 1, .subjects = 2, .spent_s = 0.2, .round_s = 0.1}), "");
  EXPECT_EQ(too_few_rounds({.seconds = 1, .subjects = 2, .spent_s = 0, .round_s = 0}), "");
  EXPECT_EQ(too_few_rounds({.seconds = 1, .subjects = 0, .spent_s = 0, .round_s = 1}), "");
}

}  // namespace
}  // namespace assay
