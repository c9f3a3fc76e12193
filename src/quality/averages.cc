#include "quality/averages.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "quality/loss.h"

namespace assay {
namespace {

struct RowLoss {
  Loss loss;
  std::int64_t padding = 0;
};

RowLoss row_loss(const PositionLosses& losses, std::int64_t row, const AverageOptions& options) {
  const std::int64_t length = options.length == 0 ? losses.seq : std::min(options.length, losses.seq);
  const std::uint8_t* mask = losses.mask.data() + row * losses.seq;
  const double* nll = losses.nll.data() + row * (losses.seq - 1);
  RowLoss result;
  for (std::int64_t t = 0; t + 1 < length; ++t) {
    const bool real = mask[t] != 0 && mask[t + 1] != 0;
    if (!real && options.padding == PaddingScored::no) continue;
    result.loss.total += nll[t];
    ++result.loss.counted;
    result.padding += real ? 0 : 1;
  }
  return result;
}

/// log(mean(exp(values))) without overflow.
double log_mean_exp(const std::vector<double>& values) {
  if (values.empty()) return 0;
  const double largest = *std::max_element(values.begin(), values.end());
  std::vector<double> scaled;
  for (const double value : values) scaled.push_back(std::exp(value - largest));
  return largest + std::log(mean(scaled));
}

}  // namespace

double mean(std::span<const double> values) {
  return values.empty() ? 0 : std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::string name(const AverageOptions& options) {
  const char* padding = options.padding == PaddingScored::yes ? "padding scored" : "padding not scored";
  switch (options.averaging) {
    case Averaging::tokens:
      return fmt::format("{}, mean over tokens", padding);
    case Averaging::batch_losses:
      return fmt::format("{}, mean over batches of {}", padding, options.batch);
    case Averaging::batch_perplexities:
      return fmt::format("{}, mean of the perplexities of batches of {}", padding, options.batch);
  }
  return padding;
}

Average average(const PositionLosses& losses, const AverageOptions& options) {
  Average result;
  Loss all;
  std::vector<double> batch_means;
  for (std::int64_t begin = 0; begin < losses.rows; begin += options.batch) {
    Loss batch;
    for (std::int64_t row = begin; row < std::min(losses.rows, begin + options.batch); ++row) {
      const RowLoss of_row = row_loss(losses, row, options);
      batch.total += of_row.loss.total;
      batch.counted += of_row.loss.counted;
      result.padding += of_row.padding;
    }
    all.total += batch.total;
    all.counted += batch.counted;
    if (batch.counted > 0) batch_means.push_back(*batch.mean());
  }
  result.scored = all.counted;
  result.nll = options.averaging == Averaging::tokens         ? all.mean().value_or(0)
               : options.averaging == Averaging::batch_losses ? mean(batch_means)
                                                              : log_mean_exp(batch_means);
  return result;
}

}  // namespace assay
