#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/interrupt.h"
#include "model/config.h"
#include "program/program.h"
#include "quality/logit_source.h"
#include "quality/row_scores.h"
#include "runtime/instance.h"
#include "runtime/non_finite.h"
#include "runtime/plan.h"

namespace assay {

/// A batch to be scored. `targets` has one class a row of logits, ignored_label where the row does not count: where
/// every token has logits B*T of them (a language model's next ones), for a classifier B labels, empty where only
/// divergence is asked.
struct QualityBatch {
  Extent extent;
  std::vector<std::int32_t> ids;
  std::vector<std::uint8_t> mask;  ///< Empty: all real.
  std::vector<std::int32_t> targets;
  std::vector<std::int32_t> token_types = {};  ///< Empty: all 0, and the program need not have them.
};

/// What of a model's outputs is judged.
enum class Judged : std::uint8_t {
  classes,         ///< The distribution over classes of every real row, and the target's place in it where it has one.
  masked_classes,  ///< The same of rows with a target alone: of the others the token stands in the input.
  scores,          ///< Numbers; no target counts.
  similarities     ///< The cosine of each two rows: embeddings of the sentences of a pair, one behind the other.
};

/// How much of a text a set holds.
enum class Taken : std::uint8_t { all, beginning };

/// Data cut into batches by a named protocol.
struct QualitySet {
  std::string data;      ///< "test.txt, first 8,192 tokens"
  std::string protocol;  ///< "window 128", "stride 512/256", "padded-lines 128", "one sentence a row, padded to 64"
  std::vector<QualityBatch> batches;
  std::int64_t tokens = 0;  ///< Of a text: ids that were taken, overlaps counted once.
  Taken taken = Taken::all;
  Judged judged = Judged::classes;
  /// What its classes are called, where they are tags of entities (quality/entities.h); else empty.
  std::vector<std::string> entity_tags = {};
  /// Numbers that scores or similarities are compared with, in the set's order; empty: none.
  std::vector<double> numbers = {};
  /// How many targets each window of a text has, where its windows are no rows of the batches; else empty.
  std::vector<std::int32_t> windows = {};
};

/// What one instance did on every row of a set; rows in the set's order, so that two instances compare row by row.
struct QualityRows {
  std::vector<double> nll;            ///< Negative log-likelihood of the target, nats; rows that count.
  std::vector<std::uint8_t> correct;  ///< Target is the arg max; rows that count.
  std::vector<std::int32_t> targets;  ///< Of rows that count, of a set with entity_tags,
  std::vector<std::int32_t> answers;  ///< and the classes that the arg max names.
  std::vector<std::int32_t> windows;  ///< How many rows count in each row of a batch that has any, in their order.
  std::vector<double> kl;             ///< KL(baseline || this) of every real row, nats.
  std::vector<std::uint8_t> agrees;   ///< Whether the arg max is the baseline's, of every real row.
  double largest_difference = 0;      ///< Of any logit from the baseline's.
  double largest_logit = 0;           ///< Largest magnitude of the baseline's logits; 0 for the baseline itself.
  std::uint64_t logits_hash =
      hash_start;  ///< Over the real rows' logits as f32: equal where two runs are bit-identical.
  /// Where scores or similarities are judged: all of them, (rows, outputs); of what stands above, only the hash is
  /// filled then.
  std::vector<float> scores;
  std::int64_t outputs = 1;
  /// A real or scored row that is not finite. Nothing else is filled then: no figure follows from such an output.
  std::optional<NonFiniteRun> non_finite;
};

struct EvaluateOptions {
  InterruptFlag interrupted = nullptr;  ///< Ends between two batches; what was scored until then is kept.
  std::function<void(double share_done)> progress;
  /// Memory that the plans may take together, beside the weights that the instances hold. Absent: each of them may take
  /// what the machine had available.
  std::optional<std::int64_t> free_bytes = std::nullopt;
  /// Scored beside the instances, behind them; none may be the baseline.
  std::vector<LogitSource*> others = {};
};

/// What became of a whole set.
struct Evaluation {
  std::vector<QualityRows> qualities;  ///< One an instance, then one for each of the others, all over the same batches.
  std::vector<std::string> faults = {};  ///< Of each of the others: why it was not scored to the end; empty: it was.
  std::int64_t tokens = 0;               ///< Real ones that were run, the same for every instance.
  std::int64_t tokens_of_set = 0;        ///< More than `tokens` after an interrupt.
  bool is_whole() const { return tokens == tokens_of_set; }
};

/// Runs every instance on every batch, the first one being the baseline of the others. The instances' program gives
/// `logits` for all positions; their ids are inside the vocabulary and targets inside the classes. Memory beside the
/// weights: a plan of each instance at the set's shape. An instance whose output is not finite is run no further; where
/// that is the baseline, nothing is compared from there on and the caller must drop what was before. Of the others one
/// that gives no more logits, or some of another shape, has no figures and a fault.
Evaluation evaluate(std::span<Instance* const> instances, const QualitySet& set, const EvaluateOptions& options);

}  // namespace assay
