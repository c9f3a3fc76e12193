#include "measure/meters/power_meter.h"

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <thread>

#include "base/error.h"

namespace assay {

void PowerIntegral::add(double at_s, double watts) {
  if (last_s_ && at_s <= *last_s_) return;
  if (last_s_) {
    const double step_s = at_s - *last_s_;
    joules_ += step_s * (watts + last_w_) / 2;
    missed_j_ += step_s * std::abs(watts - last_w_) / 2;
  }
  last_s_ = at_s;
  last_w_ = watts;
}

double PowerIntegral::joules_until(double now_s) const {
  return last_s_ ? joules_ + std::max(now_s - *last_s_, 0.0) * last_w_ : 0;
}

namespace {

class PowerMeter : public EnergyMeter {
 public:
  PowerMeter(PowerMeterOptions options, EnergyMeterFacts facts)
      : options_(std::move(options)), facts_(std::move(facts)) {
    look();
    if (options_.time.polling == Polling::by_thread) thread_ = std::thread([this] { poll(); });
  }
  PowerMeter(const PowerMeter&) = delete;
  PowerMeter& operator=(const PowerMeter&) = delete;
  ~PowerMeter() override {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    stop_.notify_all();
    if (thread_.joinable()) thread_.join();
  }

  const EnergyMeterFacts& facts() const override { return facts_; }

  double read_j() override {
    const std::lock_guard lock(mutex_);
    look();
    return integral_.joules();
  }

  double missed_j() const override {
    const std::lock_guard lock(mutex_);
    return integral_.missed_j();
  }

 private:
  /// The mutex is held, or nobody else is there yet.
  void look() {
    if (!fault_.empty()) throw Error(ExitCode::lacking, fault_);
    const double watts = options_.read_watts();
    if (!std::isfinite(watts) || watts < 0) fail_lacking("{}: says {} W", facts_.source, watts);
    integral_.add(options_.time.now_s(), watts);
  }

  void poll() {
    std::unique_lock lock(mutex_);
    const auto period = std::chrono::duration<double>(std::max(facts_.update_period_s, 1e-3));
    while (!stop_.wait_for(lock, period, [this] { return stopping_; })) {
      try {
        look();
      } catch (const Error& e) {
        fault_ = e.what();  // read_j() says it to whoever asks next.
        return;
      }
    }
  }

  PowerMeterOptions options_;
  EnergyMeterFacts facts_;
  mutable std::mutex mutex_;
  std::condition_variable stop_;
  PowerIntegral integral_;
  std::string fault_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<EnergyMeter> make_power_meter(PowerMeterOptions options, EnergyMeterFacts facts) {
  return std::make_unique<PowerMeter>(std::move(options), std::move(facts));
}

}  // namespace assay
