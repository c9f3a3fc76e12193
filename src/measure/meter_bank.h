#pragma once

#include <optional>
#include <string>
#include <vector>

#include "measure/sampling.h"

namespace assay {

/// The meter of a run and the other ones, read together around windows. One that stops answering or stands still ends
/// its own metering, not the run: times stay good.
class MeterBank {
 public:
  /// Of `options`, which it keeps: meter and other_meters; none is no bank at all.
  explicit MeterBank(const SamplingOptions& options);

  void begin();
  /// Adds what has been used since begin() to the series.
  void end(double window_s, std::int64_t runs, Series& series);
  /// Takes away the sums of meters that failed, and says why.
  void settle(Series& series) const;

 private:
  struct Metered {
    EnergyMeter* meter;
    std::optional<double> begin_j{};
    double begin_missed_j = 0;
    std::string fault{};
  };
  static std::optional<double> read(Metered& one);
  bool is_metered() const { return options_.meter != nullptr; }

  const SamplingOptions& options_;
  Counters begin_load_{};
  std::vector<Metered> meters_;  ///< The run's own first; null where there is none.
};

}  // namespace assay
