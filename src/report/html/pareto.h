#pragma once

#include <span>
#include <string>
#include <vector>

#include "report/subject.h"

namespace assay {

/// One precision in two respects; less cost and more gain are better.
struct Tradeoff {
  std::string precision;
  double cost = 0;
  double gain = 0;
};

/// Indices of those that no other one beats in both respects (or equals in one and beats in the other), by cost.
std::vector<std::size_t> pareto_front(std::span<const Tradeoff> tradeoffs);

/// Two `figure`s: quality against latency, and against energy; or what is missing for them.
std::string pareto_html(const ReportSubject& subject);

}  // namespace assay
