#include "studies/rank_benchmark/record.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

MachineEnergy metered_machine(const std::string& host, double joules) {
  Energy energy;
  energy.energy_status = {EnergyState::metered, "RAPL: package-0"};
  energy.energy_j = joules;
  energy.energy_uncertainty_j = 0.1;
  energy.energy_net_j = joules - 1;
  energy.energy_net_uncertainty_j = 0.2;
  energy.power_w = 50;
  energy.idle_power_w = 20;
  energy.energy_short_share = 0;
  energy.energy_update_s = 0.001;
  return {host, energy};
}

TEST(RankEnergy, OfOneMachineIsItsOwn) {
  const std::vector<MachineEnergy> one = {metered_machine("a", 3)};
  const Energy energy = energy_of_machines(one);
  EXPECT_EQ(energy.energy_j, 3);
  EXPECT_EQ(energy.energy_status.detail, "RAPL: package-0");
}

TEST(RankEnergy, OfSeveralMachinesAddsUpWithItsBounds) {
  std::vector<MachineEnergy> both = {metered_machine("a", 3), metered_machine("b", 4)};
  const Energy energy = energy_of_machines(both);
  EXPECT_EQ(energy.energy_j, 7);
  EXPECT_DOUBLE_EQ(*energy.energy_uncertainty_j, 0.2) << "bounds, not deviations";
  EXPECT_DOUBLE_EQ(*energy.energy_net_uncertainty_j, 0.4);
  EXPECT_EQ(energy.power_w, 100);
  EXPECT_EQ(energy.energy_status.detail, "a: RAPL: package-0; b: RAPL: package-0");
  both[1].energy.energy_net_j.reset();
  EXPECT_FALSE(energy_of_machines(both).energy_net_j) << "of one machine it is not known";
  EXPECT_TRUE(energy_of_machines(both).energy_j);
}

TEST(RankEnergy, IsNoneWhereAMachineHasNoMeterOrOneTooSlow) {
  std::vector<MachineEnergy> both = {metered_machine("a", 3), metered_machine("b", 4)};
  both[1].energy.energy_short_share = 0.5;
  const Energy too_short = energy_of_machines(both);
  EXPECT_FALSE(too_short.energy_j || too_short.power_w);
  EXPECT_NE(to_text(too_short.energy_status).find("b: 50 % of the windows"), std::string::npos)
      << to_text(too_short.energy_status);
  both[1] = {"b", Energy{.energy_status = {EnergyState::no_meter, "/sys/class/powercap is absent"}}};
  const Energy none = energy_of_machines(both);
  EXPECT_FALSE(none.energy_j);
  EXPECT_EQ(to_text(none.energy_status), "no meter: b: /sys/class/powercap is absent");
}

}  // namespace
}  // namespace assay
