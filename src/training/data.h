#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "text/corpus.h"
#include "text/tokenizer.h"
#include "training/trainer.h"

namespace assay {

/// The rows of each step as a function of the step alone, so that a training that is taken up again needs no state of a
/// generator: whatever is drawn is drawn from (seed, step) or (seed, epoch).
struct TrainingData {
  std::string words;                ///< "wiki.txt, 312,144 tokens in windows of 8 x 128"
  std::int64_t steps_an_epoch = 0;  ///< 0: there are no epochs.
  std::function<TrainingBatch(std::int64_t step)> batch;
  TokenTypes token_types = TokenTypes::zero;  ///< Whether its batches have them.
};

/// The same batch at every step.
TrainingData one_batch(TrainingBatch batch);

/// B windows of T ids a step, each at a place drawn from (seed, step); every position predicts the id after it, so that
/// a window reads T + 1 ids. Throws a user error naming `file` where the text has fewer.
TrainingData random_windows(std::vector<std::int32_t> ids, Extent extent, std::uint64_t seed, const std::string& file);

/// Sentences, or pairs of them, as ids, with their classes.
struct TokenisedSet {
  std::vector<std::vector<std::int32_t>> ids;
  std::vector<std::vector<std::int32_t>> types = {};  ///< Token types of pairs; empty: all are 0.
  std::vector<std::int32_t> labels;
  std::int64_t cut = 0;  ///< How many were longer than the context.
};
/// At most `context` ids a sentence, its last ([SEP]) kept. Throws a user error naming `file` and the line for a label
/// outside [0, classes), for a pair that is longer, and for a set without sentences.
struct Limits {
  std::int64_t context = 0;
  std::int64_t classes = 0;
};
TokenisedSet tokenise(const LabelledSet& set, const Tokenizer& tokenizer, Limits limits, const std::string& file);

/// Every sentence once an epoch in batches of similar length. An epoch's order is drawn from (seed, epoch): sentences
/// are shuffled, sorted by length within groups of 50 batches, and the batches shuffled. Rows are padded on the right
/// to a multiple of 8 ids, so that few shapes occur.
TrainingData labelled_batches(TokenisedSet set, std::int64_t batch, std::int64_t context, std::uint64_t seed);

/// The rows of a batch in `parts` of about equal size, for gradient accumulation; fewer where there are fewer rows.
/// Each knows its first row's place.
std::vector<TrainingBatch> split(const TrainingBatch& batch, std::int64_t parts);

/// Labels that count.
std::int64_t largest_part(std::int64_t rows, std::int64_t parts);  ///< Rows of the largest part that split makes.
std::int64_t counted_labels(const TrainingBatch& batch);

}  // namespace assay
