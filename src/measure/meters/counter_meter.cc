#include "measure/meters/counter_meter.h"

#include "base/error.h"
#include "hardware/system_files.h"

namespace assay {
namespace {

struct Counter {
  CounterFile file;
  std::int64_t last_uj = 0;
  double sum_uj = 0;
};

double step_uj(const Counter& counter, std::int64_t now_uj) {
  const auto step = static_cast<double>(now_uj - counter.last_uj);
  if (step >= 0) return step;
  // A counter that wraps once a minute or less is read many times on its way round: a step of more than half the range
  // is no wrap.
  const double wrapped = step + counter.file.range_uj.value_or(0);
  if (counter.file.range_uj && wrapped >= 0 && wrapped <= *counter.file.range_uj / 2) return wrapped;
  fail_lacking("{}: the energy counter stepped back from {} to {}", counter.file.path.string(), counter.last_uj,
               now_uj);
}

class CounterMeter : public EnergyMeter {
 public:
  CounterMeter(std::vector<CounterFile> files, EnergyMeterFacts facts) : facts_(std::move(facts)) {
    for (CounterFile& file : files) {
      const std::int64_t first_uj = file.first_uj;
      counters_.push_back({std::move(file), first_uj});
    }
  }

  const EnergyMeterFacts& facts() const override { return facts_; }
  void set_update_period(double seconds) override { facts_.update_period_s = seconds; }

  double read_j() override {
    double sum_uj = 0;
    for (Counter& counter : counters_) sum_uj += read_uj(counter);
    return sum_uj * 1e-6;
  }

 private:
  static double read_uj(Counter& counter) {
    const std::optional<std::int64_t> now_uj = read_number(counter.file.path);
    if (!now_uj) fail_lacking("{}: the energy counter stopped answering", counter.file.path.string());
    counter.sum_uj += step_uj(counter, *now_uj);
    counter.last_uj = *now_uj;
    return counter.sum_uj;
  }

  std::vector<Counter> counters_;
  EnergyMeterFacts facts_;
};

}  // namespace

std::unique_ptr<EnergyMeter> make_counter_meter(std::vector<CounterFile> counters, EnergyMeterFacts facts) {
  return std::make_unique<CounterMeter>(std::move(counters), std::move(facts));
}

}  // namespace assay
