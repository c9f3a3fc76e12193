#include "measure/energy_track.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

/// Gives what it is told.
class TableMeter : public EnergyMeter {
 public:
  const EnergyMeterFacts& facts() const override { return facts_; }
  double read_j() override { return joules; }
  double missed_j() const override { return missed; }
  double joules = 0;
  double missed = 0;

 private:
  EnergyMeterFacts facts_{.name = "t", .scope = "s"};
};

TEST(EnergyTrack, TellsAnyStretchByStraightLines) {
  TableMeter meter;
  EnergyTrack track;
  EXPECT_EQ(track.joules_between(0, 9), 0);
  for (const auto& [at_s, joules] : {std::pair{10.0, 100.0}, {12.0, 140.0}, {13.0, 240.0}}) {
    meter.joules = joules;
    track.look(meter, at_s);
  }
  EXPECT_DOUBLE_EQ(track.joules_between(10, 13), 140);
  EXPECT_DOUBLE_EQ(track.joules_between(11, 12.5), 20 + 50);
  EXPECT_DOUBLE_EQ(track.joules_between(0, 11), 20) << "before the first look nothing is known";
  EXPECT_DOUBLE_EQ(track.joules_between(12.5, 99), 50);
}

TEST(EnergyTrack, WhatLooksMissedIsThatOfAllLooksThatAStretchTouches) {
  TableMeter meter;
  EnergyTrack track;
  EXPECT_EQ(track.missed_between(0, 9), 0);
  for (const double at_s : {10.0, 11.0, 12.0, 13.0}) {
    meter.missed = at_s * at_s;
    track.look(meter, at_s);
  }
  EXPECT_DOUBLE_EQ(track.missed_between(11.2, 11.3), 144 - 121);
  EXPECT_DOUBLE_EQ(track.missed_between(10.5, 12.5), 169 - 100);
  EXPECT_DOUBLE_EQ(track.missed_between(0, 99), 169 - 100);
}

TEST(EnergyTrack, LooksOnlyForward) {
  TableMeter meter;
  EnergyTrack track;
  track.look(meter, 5);
  meter.joules = 7;
  track.look(meter, 5);
  track.look(meter, 4);
  EXPECT_DOUBLE_EQ(track.joules_between(0, 99), 0);
}

}  // namespace
}  // namespace assay
