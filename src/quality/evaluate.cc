#include "quality/evaluate.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/threads.h"
#include "quality/loss.h"
#include "quality/row_scores.h"

namespace assay {
namespace {

/// The plan of one instance for one shape at a time: data cut by a protocol comes in runs of one shape, and arenas are
/// large.
class CurrentPlan {
 public:
  /// `free_bytes`: what all plans may still take.
  CurrentPlan(Instance& instance, std::optional<std::int64_t>& free_bytes)
      : instance_(instance), free_bytes_(free_bytes) {}

  /// Valid until the next call.
  OutputView logits(const QualityBatch& batch) {
    const AttentionMask mask = batch.mask.empty() ? AttentionMask::absent : AttentionMask::given;
    if (!plan_ || plan_->options().mask != mask || plan_->options().extent.batch != batch.extent.batch ||
        plan_->options().extent.seq != batch.extent.seq) {
      replace({.extent = batch.extent, .mask = mask});
    }
    plan_->set_inputs(batch.ids, batch.mask, batch.token_types);
    plan_->run();
    return plan_->output("logits");
  }
  /// That of the last call.
  const Plan& plan() const { return *plan_; }

 private:
  void replace(PlanOptions options) {
    if (free_bytes_ && plan_) *free_bytes_ += plan_->arena_bytes();
    plan_.reset();
    const std::int64_t held = instance_.resident_bytes();
    options.free_bytes = free_bytes_;
    plan_ = std::make_unique<Plan>(instance_, options);
    if (free_bytes_) *free_bytes_ -= plan_->arena_bytes() + instance_.resident_bytes() - held;
  }

  Instance& instance_;
  std::optional<std::int64_t>& free_bytes_;
  std::unique_ptr<Plan> plan_;
};

/// One batch's logits where they lie in the arena, read as f32 row by row, and what is known of each row.
struct ScoredBatch {
  OutputView logits;  ///< (B, T, V) or (B, labels)
  std::vector<RowScore> scores;
  std::vector<Divergence> divergences;
  std::vector<std::uint64_t> hashes;
  std::vector<double> target_logits;

  explicit ScoredBatch(OutputView view) : logits(std::move(view)) {
    const auto rows = static_cast<std::size_t>(logits.tensor.count()) / classes();
    scores.resize(rows);
    divergences.resize(rows);
    hashes.resize(rows);
    target_logits.resize(rows);
  }
  std::size_t rows() const { return scores.size(); }
  std::size_t classes() const { return static_cast<std::size_t>(logits.tensor.shape.back()); }
  /// `scratch` is where a row goes that is not f32.
  std::span<const float> row(std::size_t index, std::vector<float>& scratch) const {
    const DType dtype = logits.tensor.dtype;
    const std::byte* data = logits.tensor.data + index * static_cast<std::size_t>(logits.row_stride) * size_of(dtype);
    if (dtype == DType::f32) return {reinterpret_cast<const float*>(data), classes()};
    scratch.resize(classes());
    convert(dtype, data, DType::f32, scratch.data(), classes());
    return scratch;
  }
};

bool has_target(const QualityBatch& batch, std::size_t row) {
  return row < batch.targets.size() && batch.targets[row] != ignored_label;
}

/// A row is real where its token is; a classifier's rows all are.
bool is_real(const QualityBatch& batch, std::size_t row, std::size_t rows) {
  return batch.mask.empty() || rows != batch.mask.size() || batch.mask[row] != 0;
}

/// A row whose distribution is compared with the baseline's.
bool is_judged(const QualitySet& set, const QualityBatch& batch, std::size_t row, std::size_t rows) {
  return set.judged == Judged::masked_classes ? has_target(batch, row) : is_real(batch, row, rows);
}

/// What a figure may come from: judged rows, and whatever is scored.
bool counts(const QualitySet& set, const QualityBatch& batch, std::size_t row, std::size_t rows) {
  return is_judged(set, batch, row, rows) || has_target(batch, row);
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

/// One pass over all rows: each is in the cache while it is scored, hashed and compared. Where few rows count, the
/// others are not looked at.
ScoredBatch score(OutputView logits, const QualitySet& set, const QualityBatch& batch, const ScoredBatch* baseline) {
  ScoredBatch mine(std::move(logits));
  parallel_for(static_cast<std::int64_t>(mine.rows()), 1, [&](std::int64_t begin, std::int64_t end) {
    Scratch scratch;
    for (auto row = static_cast<std::size_t>(begin); row < static_cast<std::size_t>(end); ++row) {
      if (set.judged == Judged::masked_classes && !has_target(batch, row)) continue;
      score_row_of(mine, row, batch, baseline, scratch);
    }
  });
  return mine;
}

std::int64_t real_tokens(const QualityBatch& batch) {
  if (batch.mask.empty()) return batch.extent.batch * batch.extent.seq;
  return std::count_if(batch.mask.begin(), batch.mask.end(), [](std::uint8_t real) { return real != 0; });
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

void add_targets(const ScoredBatch& scored, const QualitySet& set, const QualityBatch& batch, QualityRows& quality) {
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

/// A set and the batch of it that was run.
struct BatchOf {
  const QualitySet& set;
  const QualityBatch& batch;

  bool is_judged(std::size_t row, std::size_t rows) const { return assay::is_judged(set, batch, row, rows); }
};

void add_divergence(const ScoredBatch& mine, const ScoredBatch& baseline, const BatchOf& of, QualityRows& quality) {
  for (std::size_t row = 0; row < mine.rows(); ++row) {
    if (!of.is_judged(row, mine.rows())) continue;
    const Divergence& divergence = mine.divergences[row];
    quality.kl.push_back(divergence.kl);
    quality.agreeing += baseline.scores[row].best == mine.scores[row].best ? 1 : 0;
    quality.largest_difference = std::max(quality.largest_difference, divergence.largest_difference);
    quality.largest_logit = std::max(quality.largest_logit, divergence.largest_logit);
  }
}

void add_hashes(const ScoredBatch& mine, const BatchOf& of, QualityRows& quality) {
  for (std::size_t row = 0; row < mine.rows(); ++row) {
    if (of.is_judged(row, mine.rows())) quality.logits_hash = hash_step(quality.logits_hash, mine.hashes[row]);
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

/// Whether the set is judged by numbers, which are added here.
bool add_numbers(const ScoredBatch& mine, Judged judged, QualityRows& quality) {
  if (judged == Judged::scores) add_scores(mine, quality);
  if (judged == Judged::similarities) add_similarities(mine, quality);
  return judged == Judged::scores || judged == Judged::similarities;
}

bool is_finite(const ScoredBatch& scored, const BatchOf& of) {
  for (std::size_t row = 0; row < scored.rows(); ++row) {
    if (!scored.scores[row].finite && counts(of.set, of.batch, row, scored.rows())) return false;
  }
  return true;
}

/// Where it began. The logits still lie in the plan.
NonFiniteRun find_origin(const Plan& plan, const BatchOf& of) {
  std::vector<std::uint8_t> counted = of.batch.mask;
  for (std::size_t row = 0; row < counted.size(); ++row)
    counted[row] = counts(of.set, of.batch, row, counted.size()) ? 1 : 0;
  std::optional<NonFiniteRun> run = find_non_finite(plan, "logits", counted);
  ASSAY_ASSERT(run.has_value());
  return std::move(*run);
}

/// The set's windows in the place of rows, as many as were scored.
void count_windows(const QualitySet& set, QualityRows& quality) {
  if (set.windows.empty()) return;
  quality.windows.clear();
  auto left = static_cast<std::int32_t>(quality.nll.size());
  for (const std::int32_t targets : set.windows) {
    if (left <= 0) return;
    quality.windows.push_back(std::min(targets, left));
    left -= targets;
  }
}

}  // namespace

Evaluation evaluate(std::span<Instance* const> instances, const QualitySet& set, const EvaluateOptions& options) {
  Evaluation evaluation;
  std::vector<QualityRows>& qualities = evaluation.qualities;
  qualities.resize(instances.size());
  for (const QualityBatch& batch : set.batches) evaluation.tokens_of_set += real_tokens(batch);
  std::vector<CurrentPlan> plans;
  std::optional<std::int64_t> free_bytes = options.free_bytes;
  for (Instance* instance : instances) plans.emplace_back(*instance, free_bytes);
  for (std::size_t b = 0; b < set.batches.size(); ++b) {
    if (is_set(options.interrupted)) break;
    if (options.progress) options.progress(static_cast<double>(b) / static_cast<double>(set.batches.size()));
    const QualityBatch& batch = set.batches[b];
    const BatchOf of{set, batch};
    std::optional<ScoredBatch> baseline;
    for (std::size_t i = 0; i < instances.size(); ++i) {
      QualityRows& quality = qualities[i];
      if (quality.non_finite) continue;
      ScoredBatch mine = score(plans[i].logits(batch), set, batch, baseline ? &*baseline : nullptr);
      if (!is_finite(mine, of)) {
        quality = QualityRows{};
        quality.non_finite = find_origin(plans[i].plan(), of);
        continue;
      }
      add_hashes(mine, of, quality);
      if (add_numbers(mine, set.judged, quality)) continue;
      add_targets(mine, set, batch, quality);
      if (i == 0) {
        baseline = std::move(mine);
        add_divergence(*baseline, *baseline, of, quality);
      } else if (baseline) {
        add_divergence(mine, *baseline, of, quality);
      }
    }
    evaluation.tokens += real_tokens(batch);
  }
  for (QualityRows& quality : qualities) count_windows(set, quality);
  return evaluation;
}

}  // namespace assay
