#include "quality/decoding.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <optional>

#include "base/error.h"
#include "base/interrupt.h"
#include "generation/generate.h"
#include "quality/scored_batch.h"

namespace assay {
namespace {

/// The first stretch of positions; the others are as long as all before them.
constexpr std::int64_t first_stretch = 16;

SessionOptions session_options(const DecodingOptions& options, std::int64_t batch) {
  return {.batch = batch,
          .capacity = options.capacity,
          .graphs = options.graphs,
          .free_bytes = options.evaluate.free_bytes};
}

/// Positions of every row that go in together.
struct Stretch {
  std::int64_t begin = 0;
  std::int64_t count = 0;
};

/// Those positions of every row: (B, T) to (B, count).
std::vector<std::int32_t> columns(const std::vector<std::int32_t>& values, const Extent& extent, Stretch stretch) {
  std::vector<std::int32_t> columns;
  if (values.empty()) return columns;
  columns.reserve(static_cast<std::size_t>(extent.batch * stretch.count));
  for (std::int64_t row = 0; row < extent.batch; ++row) {
    const auto begin = values.begin() + row * extent.seq + stretch.begin;
    columns.insert(columns.end(), begin, begin + stretch.count);
  }
  return columns;
}

QualityBatch step_of(const QualityBatch& batch, Stretch stretch) {
  return {.extent = {batch.extent.batch, stretch.count},
          .ids = columns(batch.ids, batch.extent, stretch),
          .mask = {},
          .targets = columns(batch.targets, batch.extent, stretch)};
}

/// As many times as there are rows.
std::vector<std::int32_t> positions_of(Stretch stretch, std::int64_t batch) {
  std::vector<std::int32_t> positions(static_cast<std::size_t>(batch * stretch.count));
  for (std::size_t i = 0; i < positions.size(); ++i)
    positions[i] = static_cast<std::int32_t>(stretch.begin + static_cast<std::int64_t>(i) % stretch.count);
  return positions;
}

/// One instance on its way through a batch.
class DecodedRows {
 public:
  /// What it takes of memory is taken from `options`.
  DecodedRows(Instance& instance, DecodingOptions& options, const QualitySet& set, const QualityBatch& batch)
      : session_(instance, session_options(options, batch.extent.batch)),
        set_(set),
        extent_(batch.extent),
        rows_(static_cast<std::size_t>(batch.extent.batch * batch.extent.seq)) {
    const bool at_once = options.chunk >= extent_.seq;
    const Plan& plan = session_.plan_for(std::min(options.chunk, extent_.seq), at_once ? 0 : extent_.seq / 2);
    if (options.evaluate.free_bytes) *options.evaluate.free_bytes -= session_.cache_bytes() + plan.arena_bytes();
  }

  /// Scores what follows these positions. Absent where it is no number: then non_finite() says where that began.
  std::optional<ScoredBatch> take(Stretch stretch, const QualityBatch& step, const ScoredBatch* baseline) {
    const Plan& plan = session_.run(
        {.seq = stretch.count, .ids = step.ids, .mask = {}, .positions = positions_of(stretch, extent_.batch)});
    const BatchOf of{set_, step};
    ScoredBatch scored = score(plan.output("logits"), of, baseline);
    if (!is_finite(scored, of)) {
      non_finite_ = find_origin(plan, of);
      return std::nullopt;
    }
    for (std::int64_t row = 0; row < extent_.batch; ++row) keep(scored, row, stretch);
    return scored;
  }

  const ScoredRows& rows() const { return rows_; }
  const std::optional<NonFiniteRun>& non_finite() const { return non_finite_; }

 private:
  void keep(const ScoredBatch& scored, std::int64_t row, Stretch stretch) {
    const std::int64_t from = row * stretch.count;
    const std::int64_t to = row * extent_.seq + stretch.begin;
    const auto copy = [&](const auto& values, auto& kept) {
      std::copy_n(values.begin() + from, stretch.count, kept.begin() + to);
    };
    copy(scored.scores, rows_.scores);
    copy(scored.divergences, rows_.divergences);
    copy(scored.hashes, rows_.hashes);
    copy(scored.target_logits, rows_.target_logits);
  }

  Session session_;
  const QualitySet& set_;
  const Extent extent_;
  ScoredRows rows_;  ///< (B, T)
  std::optional<NonFiniteRun> non_finite_;
};

/// Those of one batch, the first one being the baseline.
using DecodedBatch = std::vector<std::unique_ptr<DecodedRows>>;

void take_step(DecodedBatch& all, Stretch stretch, const QualityBatch& step) {
  std::optional<ScoredBatch> baseline;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!all[i] || all[i]->non_finite()) continue;
    auto scored = all[i]->take(stretch, step, baseline ? &*baseline : nullptr);
    if (i == 0) baseline = std::move(scored);
  }
}

/// Whether the batch was decoded to its end. `step_done` is told of each step's tokens of a row.
template <typename StepDone>
bool decode_batch(DecodedBatch& all, const QualityBatch& batch, const DecodingOptions& options, StepDone&& step_done) {
  for (std::int64_t t = 0; t < batch.extent.seq; t += options.chunk) {
    if (is_set(options.evaluate.interrupted)) return false;
    const Stretch stretch{t, std::min(options.chunk, batch.extent.seq - t)};
    take_step(all, stretch, step_of(batch, stretch));
    step_done(stretch.count);
  }
  return true;
}

void add_decoded(const DecodedBatch& all, const BatchOf& of, std::vector<QualityRows>& qualities) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!all[i]) continue;
    QualityRows& quality = qualities[i];
    if (all[i]->non_finite()) {
      quality = QualityRows{};
      quality.non_finite = all[i]->non_finite();
      continue;
    }
    add_hashes(all[i]->rows(), of, quality);
    add_targets(all[i]->rows(), of.set, of.batch, quality);
    if (all[0] && !all[0]->non_finite()) add_divergence(all[i]->rows(), all[0]->rows(), of, quality);
  }
}

/// Rows of logits of each window of the set, as far as there are `rows`.
std::vector<std::int64_t> window_lengths(const QualitySet& set, std::int64_t rows) {
  std::vector<std::int64_t> lengths;
  for (const QualityBatch& batch : set.batches) {
    for (std::int64_t row = 0; row < batch.extent.batch && rows >= batch.extent.seq; ++row) {
      lengths.push_back(batch.extent.seq);
      rows -= batch.extent.seq;
    }
  }
  return lengths;
}

std::size_t stretch_of(std::int64_t position) {
  std::size_t stretch = 0;
  for (std::int64_t end = first_stretch; position >= end; end *= 2) ++stretch;
  return stretch;
}

}  // namespace

Evaluation evaluate_decoding(std::span<Instance* const> instances, const QualitySet& set,
                             const DecodingOptions& options) {
  Evaluation evaluation;
  evaluation.qualities.resize(instances.size());
  for (const QualityBatch& batch : set.batches) evaluation.tokens_of_set += real_tokens(batch);
  std::int64_t done = 0;
  std::int64_t all_tokens = 0;  // of a row
  for (const QualityBatch& batch : set.batches) all_tokens += batch.extent.seq;
  for (const QualityBatch& batch : set.batches) {
    ASSAY_ASSERT(batch.mask.empty());
    DecodedBatch all;
    DecodingOptions left = options;
    for (std::size_t i = 0; i < instances.size(); ++i)
      all.push_back(evaluation.qualities[i].non_finite
                        ? nullptr
                        : std::make_unique<DecodedRows>(*instances[i], left, set, batch));
    const bool is_whole = decode_batch(all, batch, options, [&](std::int64_t tokens) {
      done += tokens;
      if (options.evaluate.progress)
        options.evaluate.progress(static_cast<double>(done) / static_cast<double>(all_tokens));
    });
    if (!is_whole) break;
    add_decoded(all, {set, batch}, evaluation.qualities);
    evaluation.tokens += real_tokens(batch);
  }
  return evaluation;
}

std::vector<std::vector<std::int32_t>> greedy_continuations(Instance& instance,
                                                            std::span<const std::vector<std::int32_t>> prompts,
                                                            std::int64_t new_tokens, std::int64_t rows_together,
                                                            const DecodingOptions& options) {
  std::vector<std::vector<std::int32_t>> all;
  for (std::size_t first = 0; first < prompts.size(); first += static_cast<std::size_t>(rows_together)) {
    const auto part = prompts.subspan(first, std::min(static_cast<std::size_t>(rows_together), prompts.size() - first));
    Session session(instance, session_options(options, std::ssize(part)));
    Generation generation = generate(
        session,
        {.prompts = {part.begin(), part.end()}, .most_new = new_tokens, .interrupted = options.evaluate.interrupted});
    if (generation.is_interrupted) return {};
    std::move(generation.sequences.begin(), generation.sequences.end(), std::back_inserter(all));
  }
  return all;
}

std::int64_t equal_tokens(std::span<const std::int32_t> a, std::span<const std::int32_t> b) {
  return std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin();
}

std::vector<PositionFigures> figures_by_position(const QualitySet& set, const QualityRows& rows) {
  std::vector<PositionFigures> figures;
  std::vector<double> counts;
  std::size_t at = 0;
  for (const std::int64_t length : window_lengths(set, std::ssize(rows.kl))) {
    for (std::int64_t t = 0; t < length; ++t, ++at) {
      const std::size_t stretch = stretch_of(t);
      if (stretch >= figures.size()) {
        figures.push_back({.first = t});
        counts.push_back(0);
      }
      figures[stretch].kl_mean += rows.kl[at];
      figures[stretch].top1_agreement += rows.agrees[at];
      ++counts[stretch];
    }
  }
  for (std::size_t i = 0; i < figures.size(); ++i) {
    figures[i].kl_mean /= counts[i];
    figures[i].top1_agreement /= counts[i];
  }
  return figures;
}

WindowMean divergence_growth(const QualitySet& set, const QualityRows& rows) {
  std::vector<double> logs;
  auto begin = rows.kl.begin();
  for (const std::int64_t length : window_lengths(set, std::ssize(rows.kl))) {
    const auto mean = [&](std::int64_t first, std::int64_t end) {
      return std::accumulate(begin + first, begin + end, 0.0) / static_cast<double>(end - first);
    };
    const std::int64_t half = length / 2;
    if (half > first_stretch) {
      const double growth = mean(half, length) / mean(first_stretch, half);
      if (std::isfinite(growth) && growth > 0) logs.push_back(std::log(growth));
    }
    begin += length;
  }
  if (logs.empty()) return {};
  const std::vector<std::int32_t> windows(logs.size(), 1);
  WindowMean growth = mean_over_windows(logs, windows);
  growth.value = std::exp(growth.value);
  if (growth.interval)
    growth.interval = ChangeInterval{std::exp(growth.interval->low), std::exp(growth.interval->high)};
  return growth;
}

}  // namespace assay
