#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "quality/evaluate.h"

namespace assay {

/// What is known of rows of logits that were looked at.
struct ScoredRows {
  std::vector<RowScore> scores;
  std::vector<Divergence> divergences;
  std::vector<std::uint64_t> hashes;
  std::vector<double> target_logits;

  explicit ScoredRows(std::size_t rows) : scores(rows), divergences(rows), hashes(rows), target_logits(rows) {}
  std::size_t rows() const { return scores.size(); }
};

/// One batch's logits where they lie in the arena, read as f32 row by row, and what is known of each row.
struct ScoredBatch : ScoredRows {
  OutputView logits;  ///< (B, T, V) or (B, labels)

  explicit ScoredBatch(OutputView view)
      : ScoredRows(static_cast<std::size_t>(view.tensor.count() / view.tensor.shape.back())), logits(std::move(view)) {}
  std::size_t classes() const { return static_cast<std::size_t>(logits.tensor.shape.back()); }
  /// `scratch` is where a row goes that is not f32.
  std::span<const float> row(std::size_t index, std::vector<float>& scratch) const;
};

/// A set and the batch of it that was run.
struct BatchOf {
  const QualitySet& set;
  const QualityBatch& batch;

  /// A row whose distribution is compared with the baseline's.
  bool is_judged(std::size_t row, std::size_t rows) const;
  /// What a figure may come from: judged rows, and whatever is scored.
  bool counts(std::size_t row, std::size_t rows) const;
};

/// One pass over all rows: each is in the cache while it is scored, hashed and compared. Where few rows count, the
/// others are not looked at. `baseline`: null where this is the baseline itself.
ScoredBatch score(OutputView logits, const BatchOf& of, const ScoredBatch* baseline);

bool is_finite(const ScoredRows& scored, const BatchOf& of);
/// Where it began. The logits still lie in the plan.
NonFiniteRun find_origin(const Plan& plan, const BatchOf& of);

std::int64_t real_tokens(const QualityBatch& batch);
void add_hashes(const ScoredRows& mine, const BatchOf& of, QualityRows& quality);
/// Whether the set is judged by numbers, which are added here.
bool add_numbers(const ScoredBatch& mine, Judged judged, QualityRows& quality);
void add_targets(const ScoredRows& scored, const QualitySet& set, const QualityBatch& batch, QualityRows& quality);
void add_divergence(const ScoredRows& mine, const ScoredRows& baseline, const BatchOf& of, QualityRows& quality);

}  // namespace assay
