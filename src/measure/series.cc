#include "measure/series.h"

#include <utility>

namespace assay {
namespace {

constexpr std::vector<double> Series::*sample_lists[] = {&Series::warm_up_ms, &Series::raw_ms,
                                                         &Series::raw_inputs, &Series::window_power_w,
                                                         &Series::device_ms,  &Series::enqueue_ms};

}  // namespace

SeriesMark::SeriesMark(Series& series) {
  std::vector<std::vector<double>> samples;
  for (const auto list : sample_lists) {
    counts_.push_back((series.*list).size());
    samples.push_back(std::exchange(series.*list, {}));
  }
  sums_ = series;
  for (std::size_t i = 0; i < samples.size(); ++i) series.*sample_lists[i] = std::move(samples[i]);
}

void SeriesMark::restore(Series& series) const {
  Series back = sums_;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    std::vector<double>& samples = back.*sample_lists[i];
    samples = std::move(series.*sample_lists[i]);
    samples.resize(counts_[i]);
  }
  series = std::move(back);
}

std::optional<double> Series::energy_j() const {
  if (!energy || energy->windows == 0) return std::nullopt;
  return energy->joules / static_cast<double>(energy->runs);
}

}  // namespace assay
