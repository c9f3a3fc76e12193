#include "results/states.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

TEST(States, AStatusComesBackFromItsText) {
  const QualityStatus qualities[] = {{QualityState::not_asked},
                                     {QualityState::scored, "no labels of class 2"},
                                     {QualityState::interrupted, " after 3 of 9 tokens"},
                                     {QualityState::scores, "labels not scored: they name no classes"},
                                     {QualityState::oom, "memory: needs 3 GB"},
                                     {QualityState::other, "words of another version"}};
  for (const QualityStatus& status : qualities) EXPECT_EQ(quality_status(to_text(status)), status) << to_text(status);
  const EnergyStatus energies[] = {{EnergyState::no_meter, "/sys/class/powercap is absent"},
                                   {EnergyState::no_meter, " of GPU or machine; other meters here: RAPL"},
                                   {EnergyState::not_run},
                                   {EnergyState::metered, "RAPL: package-0"}};
  for (const EnergyStatus& status : energies) EXPECT_EQ(energy_status(to_text(status)), status) << to_text(status);
}

TEST(States, WhatAnInterruptLeftIsReadBackFromItsText) {
  const auto part = scored_part(quality_status(to_text(interrupted_after({154'240, 197'913}))));
  ASSERT_TRUE(part);
  EXPECT_EQ(part->tokens, 154'240);
  EXPECT_EQ(part->of, 197'913);
  EXPECT_EQ(to_text(*part), "154,240 of 197,913 tokens");
  for (const char* text : {"interrupted before anything was scored", "interrupted after 0 of 9 tokens", "scored",
                           "interrupted after 9 of 9 tokens", "interrupted after many of all tokens"})
    EXPECT_FALSE(scored_part(quality_status(text))) << text;
}

TEST(States, EveryStateHasAnEntryOfItsOwn) {
  for (int i = 0; i <= static_cast<int>(QualityState::other); ++i) {
    const QualityStatus status = {static_cast<QualityState>(i)};
    EXPECT_EQ(quality_status(to_text(status)), status) << i;
  }
}

TEST(States, AWordThatOnlyBeginsLikeAStateIsNone) {
  EXPECT_EQ(energy_status("no meters at all").state, EnergyState::metered);
  EXPECT_EQ(quality_status("scoreless").state, QualityState::other);
}

}  // namespace
}  // namespace assay
