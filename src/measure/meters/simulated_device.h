#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>

#include "hardware/recorded_tree.h"
#include "measure/energy.h"

namespace assay {

/// A device of known power, seen through files of sysfs that it renews once a period. Its time passes only when asked
/// to; only for tests.
class SimulatedDevice {
 public:
  using Power = std::function<double(double at_s)>;
  /// Writes what the device shows at that moment: its energy so far and its power.
  using Show = std::function<void(const RecordedTree& tree, double joules, double watts)>;

  SimulatedDevice(double period_s, Power power, Show show)
      : period_s_(period_s), power_(std::move(power)), show_(std::move(show)) {
    renew();
    write();
  }

  /// Integrates in steps that are shorter than the period.
  void pass(double seconds) {
    const double end_s = now_s_ + seconds;
    while (now_s_ < end_s) {
      const double step_s = std::min({end_s - now_s_, period_s_ / (is_lazy_ ? 10 : 50), next_s_ - now_s_});
      energy_j_ += step_s * power_(now_s_ + step_s / 2);
      now_s_ += step_s;
      if (now_s_ >= next_s_ - 1e-12) renew();
    }
    if (!is_lazy_) write();
  }

  /// From now on its files are written by show() alone, before somebody reads them, and steps are longer: that saves a
  /// long simulation time.
  void write_when_shown() { is_lazy_ = true; }
  void show() { write(); }

  MeterTime time() {
    const auto wait = [this](double seconds) {
      pass(seconds);
      return seconds;
    };
    return {[this] { return now_s_; }, wait, Polling::by_caller};
  }

  double now_s() const { return now_s_; }
  double energy_j() const { return energy_j_; }
  const RecordedTree& tree() const { return tree_; }

 private:
  void renew() {
    shown_j_ = energy_j_;
    shown_w_ = power_(now_s_);
    next_s_ = now_s_ + period_s_;
  }
  /// Nobody reads while time passes: what was shown in between need not be written.
  void write() {
    if (next_s_ == written_s_) return;
    show_(tree_, shown_j_, shown_w_);
    written_s_ = next_s_;
  }

  RecordedTree tree_;
  double period_s_;
  Power power_;
  Show show_;
  double now_s_ = 1000;
  double next_s_ = 0;
  double energy_j_ = 0;
  double shown_j_ = 0;
  double shown_w_ = 0;
  double written_s_ = 0;
  bool is_lazy_ = false;
};

inline std::string counted(double joules, double step_j, double range_j) {
  const double stepped_j = std::floor(joules / step_j) * step_j;
  return fmt::format("{:.0f}\n", std::fmod(stepped_j, range_j) * 1e6);
}

/// A package's counter with RAPL's step that starts again at `range_j`.
inline SimulatedDevice::Show shown_by_rapl(double range_j = 262143) {
  return [range_j](const RecordedTree& tree, double joules, double) {
    const std::string zone = "sys/class/powercap/intel-rapl:0/";
    tree.write(zone + "name", "package-0\n");
    tree.write(zone + "max_energy_range_uj", fmt::format("{:.0f}\n", range_j * 1e6));
    tree.write(zone + "energy_uj", counted(joules, 0x1p-14, range_j));
  };
}

}  // namespace assay
