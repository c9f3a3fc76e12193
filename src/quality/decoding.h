#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "quality/compare.h"
#include "quality/evaluate.h"

namespace assay {

/// How rows go through the cache of instances that with_cache made.
struct DecodingOptions {
  std::int64_t capacity = 0;  ///< As the instances' programs were made with.
  /// Tokens of a row that go in together: 1, with the kernels of decoding and LogitRows::last; more, with those of
  /// prompts and LogitRows::all, which is faster. What is kept has the cache's dtype in both.
  std::int64_t chunk = 1;
  Graphs graphs = Graphs::on;
  EvaluateOptions evaluate = {};
};

/// As evaluate(), chunk by chunk: every row of a batch gets its next ids, whatever the model thought likely, and what
/// the model says behind them is scored, with keys and values in the cache's dtype. All instances take each step
/// together, so that no logits are kept. The batches have no masks. Memory beside the weights: a cache of each instance
/// for a batch's rows. Of greedy_continuations the chunk is 1.
Evaluation evaluate_decoding(std::span<Instance* const> instances, const QualitySet& set,
                             const DecodingOptions& options);

/// Ids that an instance adds greedily behind prompts, the end of a text included. `prompts`: of one length. The same
/// kernels, as many rows at a time as `rows_together`. Empty after an interrupt.
std::vector<std::vector<std::int32_t>> greedy_continuations(Instance& instance,
                                                            std::span<const std::vector<std::int32_t>> prompts,
                                                            std::int64_t new_tokens, std::int64_t rows_together,
                                                            const DecodingOptions& options);
/// Of two continuations of one prompt: ids before the first that differs.
std::int64_t equal_tokens(std::span<const std::int32_t> a, std::span<const std::int32_t> b);

/// Figures of what stands at a stretch of positions, each stretch twice as long as all before it.
struct PositionFigures {
  std::int64_t first = 0;  ///< Tokens before the stretch's first one.
  double kl_mean = 0;
  double top1_agreement = 0;
};
/// By position in the rows of a set without masks; as far as it was scored.
std::vector<PositionFigures> figures_by_position(const QualitySet& set, const QualityRows& rows);

/// The mean divergence of a window's second half over that of its first, of which the tokens before the 16th are left
/// out: the geometric mean over the windows, 95 % by Student's t of the logarithms. No windows where none is as long as
/// 32, or one half of each does not diverge.
WindowMean divergence_growth(const QualitySet& set, const QualityRows& rows);

}  // namespace assay
