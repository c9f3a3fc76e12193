#include "training/scale_shares.h"

#include <algorithm>

#include "base/error.h"
#include "program/float8_history.h"

namespace assay {

std::vector<ScaleShares> scale_shares(const Trainer& trainer) {
  std::vector<ScaleShares> shares;
  for (const Value& value : trainer.programs().step.values) {
    if (!is_scale_history(value)) continue;
    const auto* history = trainer.state().find(value.name)->as<float>();
    const std::size_t layer = value.name.find('.', scale_history_prefix.size());
    ASSAY_ASSERT(layer != std::string::npos);
    shares.push_back({value.name.substr(layer + 1),
                      value.name.substr(scale_history_prefix.size(), layer - scale_history_prefix.size()),
                      history[float8_before], history[float8_saturated], history[float8_flushed]});
  }
  return shares;
}

void MeanScaleShares::add(const std::vector<ScaleShares>& step) {
  if (sums_.empty())
    sums_ = std::vector<ScaleShares>(step);
  else
    for (std::size_t i = 0; i < step.size(); ++i) {
      sums_[i].largest = std::max(sums_[i].largest, step[i].largest);
      sums_[i].saturated += step[i].saturated;
      sums_[i].flushed += step[i].flushed;
    }
  ++steps_;
}

std::vector<ScaleShares> MeanScaleShares::means() const {
  std::vector<ScaleShares> means = sums_;
  for (ScaleShares& one : means) {
    one.saturated /= steps_;
    one.flushed /= steps_;
  }
  return means;
}

}  // namespace assay
