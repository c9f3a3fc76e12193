#include "quality/evaluate.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <tuple>

#include "base/error.h"
#include "base/threads.h"
#include "quality/loss.h"

namespace assay {
namespace {

/// Plans of one instance by shape, made when first needed.
class Plans {
 public:
  explicit Plans(Instance& instance) : instance_(instance) {}

  Tensor logits(const QualityBatch& batch) {
    const auto key = std::tuple(batch.extent.batch, batch.extent.seq, !batch.mask.empty());
    auto known = plans_.find(key);
    if (known == plans_.end()) {
      // One shape at a time: data cut by a protocol comes in runs of one shape, and arenas are large.
      plans_.clear();
      known = plans_
                  .emplace(key, std::make_unique<Plan>(instance_,
                                                       PlanOptions{batch.extent, !batch.mask.empty(), {"logits"}}))
                  .first;
    }
    known->second->set_inputs(batch.ids, batch.mask);
    known->second->run();
    return known->second->output_f32("logits");
  }

 private:
  Instance& instance_;
  std::map<std::tuple<std::int64_t, std::int64_t, bool>, std::unique_ptr<Plan>> plans_;
};

struct RowScore {
  double log_sum = 0;  ///< log of the sum of exponentials
  std::int64_t best = 0;
};

RowScore score(std::span<const float> row) {
  const auto highest = std::max_element(row.begin(), row.end());
  double sum = 0;
  for (const float logit : row) sum += std::exp(static_cast<double>(logit - *highest));
  return {std::log(sum) + static_cast<double>(*highest), highest - row.begin()};
}

struct Divergence {
  double kl = 0;
  double largest_difference = 0;
  double largest_logit = 0;
};

/// KL(p || q) = sum p (log p - log q) over one row, with both log-normalisers known.
Divergence diverge(std::span<const float> p, const RowScore& p_score, std::span<const float> q,
                   const RowScore& q_score) {
  Divergence d;
  for (std::size_t i = 0; i < p.size(); ++i) {
    const double log_p = static_cast<double>(p[i]) - p_score.log_sum;
    d.kl += std::exp(log_p) * (log_p - (static_cast<double>(q[i]) - q_score.log_sum));
    d.largest_difference = std::max(d.largest_difference, static_cast<double>(std::abs(p[i] - q[i])));
    d.largest_logit = std::max(d.largest_logit, static_cast<double>(std::abs(p[i])));
  }
  d.kl = std::max(d.kl, 0.0);
  return d;
}

std::uint64_t hash_bits(std::uint64_t hash, const Tensor& logits) {
  const auto* words = logits.as<std::uint32_t>();
  for (std::int64_t i = 0; i < logits.count(); ++i) hash = (hash ^ words[i]) * 0x100000001b3U;
  return hash;
}

/// A row is real where its token is; a classifier's rows all are.
bool is_real(const QualityBatch& batch, std::size_t row, std::size_t rows) {
  return batch.mask.empty() || rows != batch.mask.size() || batch.mask[row] != 0;
}

/// One batch's logits with the scores of every row.
struct Scored {
  Tensor logits;
  std::vector<RowScore> rows;

  std::span<const float> row(std::size_t index) const {
    const auto classes = static_cast<std::size_t>(logits.shape().back());
    return {logits.as<float>() + index * classes, classes};
  }
};

Scored score_batch(Tensor logits) {
  Scored result{std::move(logits), {}};
  result.rows.resize(static_cast<std::size_t>(result.logits.count() / result.logits.shape().back()));
  parallel_for(static_cast<std::int64_t>(result.rows.size()), 1, [&](std::int64_t begin, std::int64_t end) {
    for (auto row = static_cast<std::size_t>(begin); row < static_cast<std::size_t>(end); ++row)
      result.rows[row] = score(result.row(row));
  });
  return result;
}

void add_targets(const Scored& scored, const QualityBatch& batch, Quality& quality) {
  double total = 0;
  std::int64_t counted = 0;
  for (std::size_t row = 0; row < batch.targets.size(); ++row) {
    const std::int32_t target = batch.targets[row];
    if (target == ignored_label) continue;
    ASSAY_ASSERT(target >= 0 && target < scored.logits.shape().back());
    const double nll =
        scored.rows[row].log_sum - static_cast<double>(scored.row(row)[static_cast<std::size_t>(target)]);
    quality.nll.push_back(nll);
    quality.correct.push_back(scored.rows[row].best == target ? 1 : 0);
    total += nll;
    ++counted;
  }
  if (counted > 0) quality.batch_mean_nll.push_back(total / static_cast<double>(counted));
}

void add_divergence(const Scored& baseline, const Scored& mine, const QualityBatch& batch, Quality& quality) {
  const std::size_t rows = mine.rows.size();
  std::vector<Divergence> divergences(rows);
  parallel_for(static_cast<std::int64_t>(rows), 1, [&](std::int64_t begin, std::int64_t end) {
    for (auto row = static_cast<std::size_t>(begin); row < static_cast<std::size_t>(end); ++row) {
      divergences[row] = diverge(baseline.row(row), baseline.rows[row], mine.row(row), mine.rows[row]);
    }
  });
  for (std::size_t row = 0; row < rows; ++row) {
    if (!is_real(batch, row, rows)) continue;
    quality.kl.push_back(static_cast<float>(divergences[row].kl));
    quality.agreeing += baseline.rows[row].best == mine.rows[row].best ? 1 : 0;
    quality.largest_difference = std::max(quality.largest_difference, divergences[row].largest_difference);
    quality.largest_logit = std::max(quality.largest_logit, divergences[row].largest_logit);
  }
}

}  // namespace

std::vector<Quality> evaluate(std::span<Instance* const> instances, const QualitySet& set,
                              const EvaluateOptions& options) {
  std::vector<Quality> qualities(instances.size());
  std::vector<Plans> plans;
  for (Instance* instance : instances) plans.emplace_back(*instance);
  for (Quality& quality : qualities) quality.logits_hash = 0xcbf29ce484222325U;
  for (std::size_t b = 0; b < set.batches.size(); ++b) {
    if (options.interrupted != nullptr && options.interrupted->load()) break;
    if (options.progress) options.progress(static_cast<double>(b) / static_cast<double>(set.batches.size()));
    const QualityBatch& batch = set.batches[b];
    Scored baseline;
    for (std::size_t i = 0; i < instances.size(); ++i) {
      Scored mine = score_batch(plans[i].logits(batch));
      qualities[i].logits_hash = hash_bits(qualities[i].logits_hash, mine.logits);
      add_targets(mine, batch, qualities[i]);
      add_divergence(i == 0 ? mine : baseline, mine, batch, qualities[i]);
      if (i == 0) baseline = std::move(mine);
    }
  }
  return qualities;
}

}  // namespace assay
