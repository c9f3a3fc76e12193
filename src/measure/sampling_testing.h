#pragma once

#include <functional>
#include <string>
#include <utility>

#include "measure/sampling.h"

namespace assay {

/// Time that passes only when a subject says so.
struct FakeTime {
  double now = 100;
  Clock clock(double resolution_s = 1e-9) {
    return {[this] { return now; }, resolution_s};
  }
  Subject taking(std::string name, std::function<double()> seconds) {
    return {std::move(name), [this, seconds] { now += seconds(); }, [] { return 1.0; }};
  }
};

inline SamplingOptions options_on(FakeTime& time) {
  SamplingOptions options;
  options.clock = time.clock();
  return options;
}

}  // namespace assay
