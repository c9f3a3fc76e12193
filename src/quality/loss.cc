#include "quality/loss.h"

#include "base/error.h"
#include "quality/row_scores.h"

namespace assay {

double negative_log_likelihood(std::span<const float> logits, std::int32_t label) {
  return score_row(logits).log_sum - static_cast<double>(logits[static_cast<std::size_t>(label)]);
}

Loss cross_entropy(const TensorView& logits, std::span<const std::int32_t> labels) {
  const std::int64_t classes = logits.shape.back();
  ASSAY_ASSERT(static_cast<std::int64_t>(labels.size()) * classes == logits.count());
  Loss loss;
  for (std::size_t row = 0; row < labels.size(); ++row) {
    if (labels[row] == ignored_label) continue;
    if (labels[row] < 0 || labels[row] >= classes)
      fail_user("label {} in row {}: the model has {} classes", labels[row], row, classes);
    const float* values = logits.as<float>() + static_cast<std::int64_t>(row) * classes;
    loss.total += negative_log_likelihood({values, static_cast<std::size_t>(classes)}, labels[row]);
    ++loss.counted;
  }
  return loss;
}

std::vector<std::int32_t> default_labels(std::span<const std::int32_t> ids, std::span<const std::uint8_t> mask) {
  std::vector<std::int32_t> labels(ids.begin(), ids.end());
  for (std::size_t i = 0; i < mask.size(); ++i) {
    if (mask[i] == 0) labels[i] = ignored_label;
  }
  return labels;
}

Loss next_token_loss(const TensorView& logits, std::span<const std::int32_t> labels) {
  const std::int64_t seq = logits.shape[1];
  std::vector<std::int32_t> shifted(labels.size(), ignored_label);
  for (std::size_t i = 0; i + 1 < labels.size(); ++i) {
    if ((static_cast<std::int64_t>(i) + 1) % seq != 0) shifted[i] = labels[i + 1];
  }
  return cross_entropy(logits, shifted);
}

}  // namespace assay
