#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tensor/tensor.h"

namespace assay {

constexpr std::int32_t ignored_label = -100;

/// Sum and count of negative log-likelihoods in nats.
struct Loss {
  double total = 0;
  std::int64_t counted = 0;
  /// Absent where nothing counts: a mean of nothing is not 0.
  std::optional<double> mean() const {
    if (counted == 0) return std::nullopt;
    return total / static_cast<double>(counted);
  }
};

/// -log softmax(logits)[label] of one row, in f64 from the f32 logits; label inside the row.
double negative_log_likelihood(std::span<const float> logits, std::int32_t label);

/// Cross-entropy of logits (rows, classes) against labels (rows); ignored_label is skipped. Throws a user error for a
/// label outside [0, classes).
Loss cross_entropy(const TensorView& logits, std::span<const std::int32_t> labels);

/// Labels of a language model before the shift: the ids, ignored where the mask (may be empty: all real) is 0.
std::vector<std::int32_t> default_labels(std::span<const std::int32_t> ids, std::span<const std::uint8_t> mask);

/// Next-token cross-entropy of logits (B, T, V): position t is scored against label t + 1; the first label of a row and
/// ignored labels do not count.
Loss next_token_loss(const TensorView& logits, std::span<const std::int32_t> labels);

}  // namespace assay
