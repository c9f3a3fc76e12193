#include "quality/scored_batch.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/threads.h"
#include "quality/loss.h"

namespace assay {
namespace {

bool has_target(const QualityBatch& batch, std::size_t row) {
  return row < batch.targets.size() && batch.targets[row] != ignored_label;
}

/// A row is real where its token is; a classifier's rows all are.
bool is_real(const QualityBatch& batch, std::size_t row, std::size_t rows) {
  return batch.mask.empty() || rows != batch.mask.size() || batch.mask[row] != 0;
}

struct Scratch {
  std::vector<float> mine;
  std::vector<float> baseline;
};

/// `baseline` is null where `mine` is the baseline itself.
void score_row_of(ScoredBatch& mine, std::size_t row, const QualityBatch& batch, const ScoredBatch* baseline,
                  Scratch& scratch) {
  const std::span<const float> logits = mine.row(row, scratch.mine);
  const ScoredRow scored = {logits, score_row(logits)};
  mine.scores[row] = scored.score;
  mine.hashes[row] = hash_row(scored.logits);
  if (has_target(batch, row)) {
    const auto target = static_cast<std::size_t>(batch.targets[row]);
    ASSAY_ASSERT(target < scored.logits.size());
    mine.target_logits[row] = scored.logits[target];
  }
  if (baseline == nullptr) return;
  mine.divergences[row] = diverge_row({baseline->row(row, scratch.baseline), baseline->scores[row]}, scored);
}

/// Targets of one row of the batch that count: tokens of a window, or the one label of a classifier.
void add_windows(const QualityBatch& batch, QualityRows& quality) {
  const auto length = batch.targets.size() / static_cast<std::size_t>(batch.extent.batch);
  for (std::size_t begin = 0; begin < batch.targets.size(); begin += length) {
    const auto first = batch.targets.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto last = first + static_cast<std::ptrdiff_t>(length);
    const auto scored = length - static_cast<std::size_t>(std::count(first, last, ignored_label));
    if (scored > 0) quality.windows.push_back(static_cast<std::int32_t>(scored));
  }
}

void add_scores(const ScoredBatch& mine, QualityRows& quality) {
  std::vector<float> scratch;
  quality.outputs = static_cast<std::int64_t>(mine.classes());
  for (std::size_t row = 0; row < mine.rows(); ++row) {
    const std::span<const float> values = mine.row(row, scratch);
    quality.scores.insert(quality.scores.end(), values.begin(), values.end());
  }
}

/// Of rows 2 i and 2 i + 1; 0 where one of them is zeros.
double cosine(std::span<const float> x, std::span<const float> y) {
  double xx = 0;
  double yy = 0;
  double xy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xx += static_cast<double>(x[i]) * x[i];
    yy += static_cast<double>(y[i]) * y[i];
    xy += static_cast<double>(x[i]) * y[i];
  }
  return xx == 0 || yy == 0 ? 0 : xy / std::sqrt(xx * yy);
}

void add_similarities(const ScoredBatch& mine, QualityRows& quality) {
  Scratch scratch;
  ASSAY_ASSERT(mine.rows() % 2 == 0);
  for (std::size_t row = 0; row < mine.rows(); row += 2)
    quality.scores.push_back(
        static_cast<float>(cosine(mine.row(row, scratch.mine), mine.row(row + 1, scratch.baseline))));
}

}  // namespace

std::span<const float> ScoredBatch::row(std::size_t index, std::vector<float>& scratch) const {
  const DType dtype = logits.tensor.dtype;
  const std::byte* data = logits.tensor.data + index * static_cast<std::size_t>(logits.row_stride) * size_of(dtype);
  if (dtype == DType::f32) return {reinterpret_cast<const float*>(data), classes()};
  scratch.resize(classes());
  convert(dtype, data, DType::f32, scratch.data(), classes());
  return scratch;
}

bool BatchOf::is_judged(std::size_t row, std::size_t rows) const {
  return set.judged == Judged::masked_classes ? has_target(batch, row) : is_real(batch, row, rows);
}

bool BatchOf::counts(std::size_t row, std::size_t rows) const {
  return is_judged(row, rows) || has_target(batch, row);
}

ScoredBatch score(OutputView logits, const BatchOf& of, const ScoredBatch* baseline) {
  ScoredBatch mine(std::move(logits));
  parallel_for(static_cast<std::int64_t>(mine.rows()), 1, [&](std::int64_t begin, std::int64_t end) {
    Scratch scratch;
    for (auto row = static_cast<std::size_t>(begin); row < static_cast<std::size_t>(end); ++row) {
      if (of.set.judged == Judged::masked_classes && !has_target(of.batch, row)) continue;
      score_row_of(mine, row, of.batch, baseline, scratch);
    }
  });
  return mine;
}

bool is_finite(const ScoredRows& scored, const BatchOf& of) {
  for (std::size_t row = 0; row < scored.rows(); ++row) {
    if (!scored.scores[row].finite && of.counts(row, scored.rows())) return false;
  }
  return true;
}

NonFiniteRun find_origin(const Plan& plan, const BatchOf& of) {
  std::vector<std::uint8_t> counted = of.batch.mask;
  for (std::size_t row = 0; row < counted.size(); ++row) counted[row] = of.counts(row, counted.size()) ? 1 : 0;
  std::optional<NonFiniteRun> run = find_non_finite(plan, "logits", counted);
  ASSAY_ASSERT(run.has_value());
  return std::move(*run);
}

std::int64_t real_tokens(const QualityBatch& batch) {
  if (batch.mask.empty()) return batch.extent.batch * batch.extent.seq;
  return std::count_if(batch.mask.begin(), batch.mask.end(), [](std::uint8_t real) { return real != 0; });
}

void add_hashes(const ScoredRows& mine, const BatchOf& of, QualityRows& quality) {
  for (std::size_t row = 0; row < mine.rows(); ++row) {
    if (of.is_judged(row, mine.rows())) quality.logits_hash = hash_step(quality.logits_hash, mine.hashes[row]);
  }
}

bool add_numbers(const ScoredBatch& mine, Judged judged, QualityRows& quality) {
  if (judged == Judged::scores) add_scores(mine, quality);
  if (judged == Judged::similarities) add_similarities(mine, quality);
  return judged == Judged::scores || judged == Judged::similarities;
}

void add_targets(const ScoredRows& scored, const QualitySet& set, const QualityBatch& batch, QualityRows& quality) {
  if (!batch.targets.empty()) add_windows(batch, quality);
  for (std::size_t row = 0; row < batch.targets.size(); ++row) {
    if (batch.targets[row] == ignored_label) continue;
    quality.nll.push_back(scored.scores[row].log_sum - scored.target_logits[row]);
    quality.correct.push_back(scored.scores[row].best == batch.targets[row] ? 1 : 0);
    if (set.entity_tags.empty()) continue;
    quality.targets.push_back(batch.targets[row]);
    quality.answers.push_back(static_cast<std::int32_t>(scored.scores[row].best));
  }
}

void add_divergence(const ScoredRows& mine, const ScoredRows& baseline, const BatchOf& of, QualityRows& quality) {
  for (std::size_t row = 0; row < mine.rows(); ++row) {
    if (!of.is_judged(row, mine.rows())) continue;
    const Divergence& divergence = mine.divergences[row];
    quality.kl.push_back(divergence.kl);
    quality.agrees.push_back(baseline.scores[row].best == mine.scores[row].best ? 1 : 0);
    quality.largest_difference = std::max(quality.largest_difference, divergence.largest_difference);
    quality.largest_logit = std::max(quality.largest_logit, divergence.largest_logit);
  }
}

}  // namespace assay
