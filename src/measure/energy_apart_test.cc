#include "measure/energy_apart.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"

namespace assay {
namespace {

/// Time that passes only when a subject or a rest says so, and what the machine used in it.
struct FakeMachine {
  double now_s = 100;
  double energy_j = 0;
  std::vector<std::string> order;

  void pass(double seconds, double watts) {
    now_s += seconds;
    energy_j += seconds * watts;
  }
  Subject drawing(const std::string& name, double seconds, double watts) {
    const auto run = [this, name, seconds, watts] {
      if (order.empty() || order.back() != name) order.push_back(name);
      pass(seconds, watts);
    };
    return {name, run, [] { return 1.0; }};
  }
};

/// A counter that is renewed once a second, as a plug's is.
class SlowMeter : public EnergyMeter {
 public:
  explicit SlowMeter(FakeMachine& machine) : machine_(machine) {}
  const EnergyMeterFacts& facts() const override { return facts_; }
  double read_j() override {
    if (std::floor(machine_.now_s) > renewed_s_) {
      renewed_s_ = std::floor(machine_.now_s);
      shown_j_ = machine_.energy_j;
    }
    return shown_j_;
  }

 private:
  FakeMachine& machine_;
  double renewed_s_ = 0;
  double shown_j_ = 0;
  EnergyMeterFacts facts_{.name = "slow", .scope = "s", .resolution_j = 0.1, .update_period_s = 1};
};

SamplingOptions options_on(FakeMachine& machine, EnergyMeter& meter) {
  SamplingOptions options;
  options.clock = {[&machine] { return machine.now_s; }, 1e-9};
  options.rest = [&machine](double seconds) {
    machine.pass(seconds, 5);
    return seconds;
  };
  options.rounds = 6;
  options.meter = &meter;
  options.energy_window_s = 20;
  options.cool_down_s = 2;
  return options;
}

TEST(EnergyApart, ASlowMeterGetsWindowsOfItsOwnInTheOrderABBA) {
  FakeMachine machine;
  SlowMeter meter(machine);
  const Subject subjects[] = {machine.drawing("A", 0.13, 60), machine.drawing("B", 0.31, 25)};
  const std::vector<Series> series = sample(subjects, options_on(machine, meter));
  ASSERT_GE(machine.order.size(), 3u);
  EXPECT_EQ(std::vector<std::string>(machine.order.end() - 3, machine.order.end()),
            (std::vector<std::string>{"A", "B", "A"}))
      << "the two windows of B follow each other";
  for (const auto& [one, joules] : {std::pair{&series[0], 0.13 * 60}, {&series[1], 0.31 * 25}}) {
    EXPECT_EQ(one->raw_ms.size(), 6u) << "windows apart are no samples";
    ASSERT_TRUE(one->energy);
    EXPECT_EQ(one->energy->windows, 2);
    EXPECT_EQ(one->energy->short_windows, 0);
    const double bound_j = one->energy->uncertainty_j / static_cast<double>(one->energy->runs);
    EXPECT_NEAR(*one->energy_j(), joules, bound_j);
    EXPECT_LT(bound_j, 0.06 * joules);
  }
}

TEST(EnergyApart, AStuckMeterLosesItsFiguresAndCostsNoSample) {
  class Stuck : public EnergyMeter {
   public:
    const EnergyMeterFacts& facts() const override { return facts_; }
    double read_j() override { return 7; }

   private:
    EnergyMeterFacts facts_{.name = "stuck", .scope = "s", .resolution_j = 0.1, .update_period_s = 0.01};
  };
  FakeMachine machine;
  Stuck meter;
  const Subject subjects[] = {machine.drawing("A", 0.13, 60)};
  SamplingOptions options = options_on(machine, meter);
  for (const double window_s : {0.0, 20.0}) {
    options.energy_window_s = window_s;
    const std::vector<Series> series = sample(subjects, options);
    EXPECT_EQ(series[0].raw_ms.size(), 6u);
    EXPECT_FALSE(series[0].energy);
    EXPECT_NE(series[0].energy_fault.find("stood still"), std::string::npos);
  }
}

TEST(EnergyApart, OtherMetersAreReadAroundTheSameWindows) {
  FakeMachine machine;
  SlowMeter meter(machine);
  SlowMeter other(machine);
  const Subject subjects[] = {machine.drawing("A", 0.5, 60)};
  SamplingOptions options = options_on(machine, meter);
  options.other_meters = {&other};
  const std::vector<Series> series = sample(subjects, options);
  ASSERT_EQ(series[0].other_energy.size(), 1u);
  ASSERT_TRUE(series[0].other_energy[0]);
  EXPECT_DOUBLE_EQ(series[0].other_energy[0]->joules, series[0].energy->joules);
}

TEST(PlanEnergy, WindowsAreThoseOfTheRoundsWhereTenFit) {
  const EnergyMeterFacts fast{.name = "f", .scope = "s", .resolution_j = 1e-4, .update_period_s = 1e-3};
  const EnergyMeterFacts slow{.name = "s", .scope = "s", .resolution_j = 0, .update_period_s = 1};
  EXPECT_EQ(plan_energy(fast, 20, 0, 5).where, EnergyPlan::in_rounds);
  EXPECT_DOUBLE_EQ(plan_energy(fast, 20, 0, 5).window_s, 0.02);
  EXPECT_EQ(plan_energy(slow, 20, 0, 5).where, EnergyPlan::apart);
  EXPECT_DOUBLE_EQ(plan_energy(slow, 20, 0.1, 5).window_s, 10);
  EnergyMeterFacts coarse = slow;
  coarse.power_step_w = 1;
  EXPECT_THROW(plan_energy(coarse, 5, 0.05, 5), Error) << "steps of 1 W at 5 W";
}

}  // namespace
}  // namespace assay
