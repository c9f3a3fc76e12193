#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "measure/energy_apart.h"
#include "measure/energy_figures.h"
#include "measure/meters.h"
#include "measure/meters/energy_log.h"
#include "measure/meters/simulated_device.h"
#include "measure/sampling.h"

// Whether the bounds of energy hold the truth: machines of known power, with neighbours that come and go, metered as
// `assay measure` does it, in simulated time; from before the idle baseline until after the one behind the windows.

namespace assay {
namespace {

constexpr int simulated_runs = 200;
constexpr double share_held = 0.93;
constexpr double begin_s = 1000;
constexpr double longest_s = 150;  ///< No measurement here takes longer.

/// What a machine of one scenario does. Powers in W.
struct Scenario {
  const char* name;
  double idle_w = 10;
  double drift_w_per_s = 0;  ///< Of the idle power.
  double own_w = 20;         ///< That the work adds: one processor.
  double processor_w = 0;    ///< That each busy processor of others adds.
  double busy_for_s = 0;     ///< A neighbour's mean time at work, 0: there is none,
  double quiet_for_s = 0;    ///< and between.
  double slowed = 1;         ///< What a run takes longer beside it.
  double range_j = 262143;   ///< Where the counter starts again.
  bool freezes = false;      ///< The counter, at some time between the baselines.
};

class Machine {
 public:
  Machine(const Scenario& scenario, std::uint64_t seed) : scenario_(scenario), random_(seed) {
    double at_s = begin_s + quiet_s();
    while (scenario.busy_for_s > 0 && at_s < begin_s + longest_s) {
      const double end_s = at_s - scenario.busy_for_s * std::log(1 - random_.next_uniform());
      neighbour_.emplace_back(at_s, end_s);
      at_s = end_s + quiet_s();
    }
    offset_j_ = scenario.range_j * random_.next_uniform();
    freezes_s_ = scenario.freezes ? begin_s + 1 + 5 * random_.next_uniform() : INFINITY;
  }

  double power_w(double at_s) const {
    const double own_w = is_working_ ? scenario_.own_w / slowed_ : 0;
    const double others_w = is_neighbour_busy(at_s) ? scenario_.processor_w : 0;
    return scenario_.idle_w + scenario_.drift_w_per_s * (at_s - begin_s) + own_w + others_w;
  }
  bool is_neighbour_busy(double at_s) const {
    const auto after =
        std::upper_bound(neighbour_.begin(), neighbour_.end(), std::pair<double, double>(at_s, INFINITY));
    return after != neighbour_.begin() && at_s < (after - 1)->second;
  }

  /// What /proc/stat and getrusage would tell at that moment.
  Counters counters(double at_s) const {
    return {
        .at_s = at_s, .busy_s = own_s_ + neighbour_s(begin_s, at_s), .total_s = 4 * (at_s - begin_s), .own_s = own_s_};
  }

  /// One run; `pass` lets time pass.
  void run(const std::function<double()>& now_s, const std::function<void(double)>& pass) {
    slowed_ = is_neighbour_busy(now_s()) ? scenario_.slowed : 1;
    is_working_ = true;
    pass(run_s * slowed_);
    is_working_ = false;
    own_s_ += run_s;
  }

  /// RAPL's files, with a counter that starts anywhere and may freeze.
  SimulatedDevice::Show shown() const {
    const auto show = shown_by_rapl(scenario_.range_j);
    return [this, show](const RecordedTree& tree, double joules, double watts) {
      const double at_s = shown_s_ ? shown_s_() : begin_s;
      if (at_s < freezes_s_) show(tree, joules + offset_j_, watts);
    };
  }
  void show_at(std::function<double()> now_s) { shown_s_ = std::move(now_s); }

  double net_j() const { return scenario_.own_w * run_s; }
  double gross_j() const { return net_j() + scenario_.idle_w * run_s; }

  static constexpr double run_s = 0.05;

 private:
  double quiet_s() { return -scenario_.quiet_for_s * std::log(1 - random_.next_uniform()); }
  double neighbour_s(double from_s, double to_s) const {
    double sum_s = 0;
    for (const auto& [begin, end] : neighbour_) sum_s += std::max(0.0, std::min(end, to_s) - std::max(begin, from_s));
    return sum_s;
  }

  const Scenario& scenario_;
  Random random_;
  std::vector<std::pair<double, double>> neighbour_;  ///< When it works.
  double offset_j_ = 0;
  double freezes_s_ = INFINITY;
  bool is_working_ = false;
  double slowed_ = 1;
  double own_s_ = 0;
  std::function<double()> shown_s_;
};

/// What a measurement needs of simulated time.
struct Simulation {
  Machine& machine;
  EnergyMeter& meter;
  std::function<double()> now_s;
  std::function<void(double)> pass;
};

SamplingOptions sampling_options(const Simulation& on, const IdlePower& idle) {
  SamplingOptions options;
  options.seconds = 1e9;
  options.rounds = 10;
  options.clock = {on.now_s, 1e-9};
  options.rest = [&on](double seconds) {
    on.pass(seconds);
    return seconds;
  };
  options.counters = [&on] { return on.machine.counters(on.now_s()); };
  options.root = "/nowhere";
  options.meter = &on.meter;
  options.usual_processors = idle.busy_processors;
  const EnergyPlan plan = plan_energy(on.meter.facts(), idle.watts, 0, 5);
  (plan.where == EnergyPlan::apart ? options.energy_window_s : options.least_window_s) = plan.window_s;
  options.cool_down_s = 1;
  return options;
}

/// Absent where the meter is none.
std::optional<EnergyFigures> metered(const Simulation& on) {
  const auto wait = [&on](double seconds) {
    on.pass(seconds);
    return seconds;
  };
  const auto counters = [&on] { return on.machine.counters(on.now_s()); };
  const IdlePower before = measure_idle_power(on.meter, wait, counters);
  const Subject subject{"A", [&on] { on.machine.run(on.now_s, on.pass); }, [] { return 0.0; }};
  const std::vector<Series> series = sample(std::span(&subject, 1), sampling_options(on, before));
  const IdlePower after = measure_idle_power(on.meter, wait, counters);
  if (!series[0].energy || has_stopped(before, after)) return std::nullopt;
  return energy_figures(energy_of_one(series[0], 1), *series[0].energy, on.meter.facts(), idle_between(before, after));
}

/// The device's files are written before they are read.
class ShownMeter : public EnergyMeter {
 public:
  ShownMeter(SimulatedDevice& device, EnergyMeter& meter) : device_(device), meter_(meter) {
    device.write_when_shown();
  }
  const EnergyMeterFacts& facts() const override { return meter_.facts(); }
  double read_j() override {
    device_.show();
    return meter_.read_j();
  }

 private:
  SimulatedDevice& device_;
  EnergyMeter& meter_;
};

std::optional<EnergyFigures> metered_by_rapl(const Scenario& scenario, Machine& machine) {
  constexpr double period_s = 0.01;
  SimulatedDevice device(period_s, [&](double at_s) { return machine.power_w(at_s); }, machine.shown());
  machine.show_at([&] { return device.now_s(); });
  const EnergySource source = find_meters({.root = device.tree().root()}, device.time());
  if (!source.meter) throw std::runtime_error(std::string(scenario.name) + ": " + source.words);
  ShownMeter meter(device, *source.meter);
  return metered({machine, meter, [&] { return device.now_s(); }, [&](double s) { device.pass(s); }});
}

/// What a command prints, "1024.1 41.7" five times a second, as it is heard.
class PrintedWatts : public EnergyMeter {
 public:
  explicit PrintedWatts(const Machine& machine) : machine_(machine) { log_.set_period(facts_.update_period_s); }
  const EnergyMeterFacts& facts() const override { return facts_; }
  double missed_j() const override { return log_.missed_j(); }
  double read_j() override { return log_.read_j(now_s_, 1e9); }
  double now_s() const { return now_s_; }
  void pass(double seconds) {
    const double end_s = now_s_ + seconds;
    for (; next_s_ <= end_s; next_s_ += facts_.update_period_s)
      log_.add_watts(next_s_, std::round(machine_.power_w(next_s_) * 10) / 10);
    now_s_ = end_s;
  }

 private:
  const Machine& machine_;
  EnergyLog log_;
  EnergyMeterFacts facts_{.name = "command", .scope = "all", .update_period_s = 0.2, .power_step_w = 0.1};
  double now_s_ = begin_s;
  double next_s_ = begin_s;
};

std::optional<EnergyFigures> metered_by_command(const Scenario&, Machine& machine) {
  PrintedWatts meter(machine);
  meter.pass(1);
  return metered({machine, meter, [&] { return meter.now_s(); }, [&](double s) { meter.pass(s); }});
}

using Metered = std::optional<EnergyFigures> (*)(const Scenario&, Machine&);

/// Of the simulated runs, how many are told rightly, and how wide their intervals are.
struct Coverage {
  int net = 0;
  int gross = 0;
  int without_figure = 0;
  std::vector<double> net_shares;  ///< Bound over truth.
};

Coverage coverage_of(const Scenario& scenario, Metered how) {
  Coverage coverage;
  for (int seed = 1; seed <= simulated_runs; ++seed) {
    Machine machine(scenario, static_cast<std::uint64_t>(seed));
    const std::optional<EnergyFigures> figures = how(scenario, machine);
    if (!figures) {
      ++coverage.without_figure;
      continue;
    }
    coverage.net += std::abs(*figures->net_j - machine.net_j()) <= *figures->net_bound_j ? 1 : 0;
    coverage.gross += std::abs(figures->gross_j - machine.gross_j()) <= figures->gross_bound_j ? 1 : 0;
    coverage.net_shares.push_back(*figures->net_bound_j / machine.net_j());
  }
  std::sort(coverage.net_shares.begin(), coverage.net_shares.end());
  return coverage;
}

const Scenario constant{.name = "constant"};
const Scenario loaded{.name = "neighbours that come and go, and draw what they use",
                      .processor_w = 8,
                      .busy_for_s = 3,
                      .quiet_for_s = 6,
                      .slowed = 1.35};
const Scenario drifting{.name = "idle power that rises", .drift_w_per_s = 0.15};
const Scenario wrapping{.name = "a counter that starts again", .range_j = 200};
const Scenario freezing{.name = "a counter that freezes", .freezes = true};

void expect_held(const Scenario& scenario, Metered how, double widest_median) {
  SCOPED_TRACE(scenario.name);
  const Coverage coverage = coverage_of(scenario, how);
  const auto told = static_cast<double>(coverage.net_shares.size());
  EXPECT_GE(told, 0.9 * simulated_runs) << "a meter that works gives figures";
  EXPECT_GE(coverage.net, share_held * told) << "net";
  const bool is_steady = scenario.drift_w_per_s == 0;  // Else gross has no single truth.
  EXPECT_GE(is_steady ? coverage.gross : told, share_held * told) << "gross";
  EXPECT_LE(coverage.net_shares[coverage.net_shares.size() / 2], widest_median)
      << "an interval that holds everything says nothing";
}

TEST(EnergySimulation, IntervalsOfACounterHoldTheTruth) {
  expect_held(constant, metered_by_rapl, 0.2);
  expect_held(drifting, metered_by_rapl, 0.3);
  expect_held(wrapping, metered_by_rapl, 0.2);
  expect_held(loaded, metered_by_rapl, 1.5);
}

TEST(EnergySimulation, IntervalsOfAPrintedPowerHoldTheTruth) {
  expect_held(constant, metered_by_command, 0.2);
  expect_held(drifting, metered_by_command, 0.4);
  expect_held(loaded, metered_by_command, 1.5);
}

TEST(EnergySimulation, ACounterThatFreezesGivesNoFigureOrARightOne) {
  const Coverage coverage = coverage_of(freezing, metered_by_rapl);
  EXPECT_GE(coverage.net + coverage.without_figure, share_held * simulated_runs);
  EXPECT_GE(coverage.without_figure, simulated_runs / 2);
}

TEST(EnergySimulation, WithoutLookingAtWhatElseRanTheIntervalsWouldNotHold) {
  Scenario blind = loaded;
  blind.slowed = 1;
  int held = 0;
  for (int seed = 1; seed <= simulated_runs; ++seed) {
    Machine machine(blind, static_cast<std::uint64_t>(seed));
    PrintedWatts meter(machine);
    meter.pass(1);
    const auto wait = [&](double seconds) {
      meter.pass(seconds);
      return seconds;
    };
    const IdlePower idle = measure_idle_power(meter, wait, [] { return Counters{}; });
    Series series;
    series.energy.emplace();
    const double begin_j = meter.read_j();
    const double from_s = meter.now_s();
    for (int run = 0; run < 80; ++run) machine.run([&] { return meter.now_s(); }, [&](double s) { meter.pass(s); });
    series.energy->add(meter.facts(), meter.read_j() - begin_j, meter.now_s() - from_s);
    series.energy->runs = 80;
    const EnergyFigures figures = energy_figures(energy_of_one(series, 1), *series.energy, meter.facts(), idle);
    held += std::abs(*figures.net_j - machine.net_j()) <= *figures.net_bound_j ? 1 : 0;
  }
  EXPECT_LT(held, share_held * simulated_runs)
      << "else the neighbours of this simulation are too meek to test anything";
}

}  // namespace
}  // namespace assay
