#pragma once

#include <cstdint>
#include <span>

#include "quality/evaluate.h"

namespace assay {

/// Figures of one instance on a set.
struct QualityFigures {
  std::int64_t scored = 0;  ///< Rows that counted.
  double mean_nll = 0;      ///< Nats; log-perplexity.
  double perplexity = 0;    ///< exp(mean_nll)
  std::int64_t correct = 0;
  double accuracy = 0;
};
QualityFigures figures(const Quality& quality);

/// Figures of one instance against the baseline, row by row.
struct QualityChange {
  double delta_nll = 0;     ///< Mean of the differences in nats.
  double delta_nll_se = 0;  ///< Standard error of that mean: deviation of the differences over sqrt(n).
  double accuracy_change = 0;
  double mcnemar_p = 1;  ///< Exact two-sided McNemar test on the rows that changed.
  double kl_mean = 0;
  double kl_p999 = 0;  ///< 99.9th percentile (nearest rank).
  double top1_agreement = 0;
  double largest_difference = 0;  ///< Of logits, over the largest magnitude of the baseline's.
};
QualityChange compare(const Quality& baseline, const Quality& mine);

/// Two-sided p-value of the exact McNemar test (McNemar 1947): of n = better + worse rows that changed, each was as
/// likely to become right as wrong. 1 where none changed.
double mcnemar_exact(std::int64_t better, std::int64_t worse);

}  // namespace assay
