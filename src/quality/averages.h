#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace assay {

/// 0 where there is none.
double mean(std::span<const double> values);

/// The loss at every position of right- or left-padded rows of one length, padding too, so that one run can be
/// averaged in every way that people use.
struct PositionLosses {
  std::int64_t rows = 0;
  std::int64_t seq = 0;
  std::vector<double> nll;         ///< (rows, seq - 1), nats: entry t is position t scored on id t + 1.
  std::vector<std::uint8_t> mask;  ///< (rows, seq), 1 real, 0 padding.
};

enum class PaddingScored : std::uint8_t { no, yes };

enum class Averaging : std::uint8_t {
  tokens,             ///< Every scored id weighs the same: what perplexity is defined by.
  batch_losses,       ///< The mean of the batches' means: ids of batches with few of them weigh more.
  batch_perplexities  ///< The mean of exp(mean) of the batches; by Jensen's inequality never below the one before.
};

/// One way to average.
struct AverageOptions {
  PaddingScored padding = PaddingScored::no;
  Averaging averaging = Averaging::tokens;
  std::int64_t batch = 1;   ///< Rows a batch, in order; the last may have fewer. No matter for `tokens`.
  std::int64_t length = 0;  ///< Only the first so many ids of each row count; 0: all.
};
/// "padding not scored, mean over batches of 8".
std::string name(const AverageOptions& options);

struct Average {
  std::int64_t scored = 0;
  std::int64_t padding = 0;  ///< Of them, predictions of or from a padding id.
  double nll = 0;            ///< Nats; the log of the mean for batch_perplexities.
};
/// A batch in which nothing is scored does not count. Without the padding a prediction counts where both the id and the
/// one before it are real.
Average average(const PositionLosses& losses, const AverageOptions& options);

}  // namespace assay
