#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "quality/evaluate.h"

namespace assay {

/// Figures of one instance on a set.
struct QualityFigures {
  std::int64_t scored = 0;   ///< Rows that counted.
  std::int64_t windows = 0;  ///< Rows of batches that hold them.
  double mean_nll = 0;       ///< Nats; log-perplexity.
  double perplexity = 0;     ///< exp(mean_nll)
  std::int64_t correct = 0;
  double accuracy = 0;
};
QualityFigures figures(const QualityRows& quality);

struct ChangeInterval {
  double low = 0;
  double high = 0;
};

/// Fewest windows that tell how much windows vary.
constexpr std::int64_t fewest_windows = 4;

/// A mean over rows that stand in windows.
struct WindowMean {
  double value = 0;
  /// With windows as clusters: neighbouring ids are not independent. Of the ratio of sums over windows (Cochran 1977,
  /// 6.4). Absent below fewest_windows.
  std::optional<double> standard_error = {};
  std::optional<ChangeInterval> interval = {};  ///< 95 %, by Student's t with windows - 1 degrees of freedom.
};
/// `windows`: how many rows each has, one window after another; together all of them.
WindowMean mean_over_windows(std::span<const double> rows, std::span<const std::int32_t> windows);

/// Figures of one instance against the baseline, row by row.
struct QualityChange {
  double delta_nll = 0;                              ///< Mean of the differences in nats.
  std::optional<double> delta_nll_se;                ///< As mean_over_windows has it.
  std::optional<ChangeInterval> delta_nll_interval;  ///< 95 %
  double accuracy_change = 0;
  /// 95 %, of the difference of two matched proportions, adjusted by half a row to each kind of change (Agresti & Min
  /// 2005): where nothing changed among few rows it is still wide.
  ChangeInterval accuracy_interval;
  double mcnemar_p = 1;  ///< Exact two-sided McNemar test on the rows that changed.
  double kl_mean = 0;
  std::optional<double> kl_p999;  ///< 99.9th percentile (nearest rank); absent below 1,000 rows.
  double top1_agreement = 0;
  double largest_difference = 0;  ///< Of logits, over the largest magnitude of the baseline's.
};
QualityChange compare(const QualityRows& baseline, const QualityRows& mine);

/// Scores of one instance against the baseline's, as numbers. Of several outputs each correlation is that of the output
/// where it is lowest.
struct ScoreChange {
  std::int64_t rows = 0;
  /// Pearson's correlation; absent where it does not exist, see `undefined`.
  std::optional<double> pearson;
  /// Spearman's: Pearson's of the ranks, ties sharing the mean of theirs. Absent where Pearson's is.
  std::optional<double> spearman;
  double largest_difference = 0;  ///< Of a score, absolute.
  std::string undefined;          ///< Why there is no correlation: one row, or scores that are all equal.
};
ScoreChange compare_scores(const QualityRows& baseline, const QualityRows& mine);

/// Pearson's correlation of two series of one length; absent for fewer than two values and where one has no variance.
std::optional<double> pearson(std::span<const double> x, std::span<const double> y);
/// From 1; values that are equal share the mean of their ranks.
std::vector<double> ranks(std::span<const double> values);

/// Two-sided p-value of the exact McNemar test (McNemar 1947): of n = better + worse rows that changed, each was as
/// likely to become right as wrong. 1 where none changed.
double mcnemar_exact(std::int64_t better, std::int64_t worse);

}  // namespace assay
