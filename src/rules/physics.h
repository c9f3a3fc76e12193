#pragma once

#include <string>

#include "rules/known_models.h"
#include "rules/range.h"
#include "tensor/precision.h"

namespace assay {

// What a figure may be at all. Rules ask it of records, `published/` of printed figures: each formula stands here once.

/// What measuring a peak or a limit may fall short of the true one.
constexpr double gate_tolerance = 1.05;
/// Whether even the low end is above what is possible, by more than the limit may be off.
bool is_impossible(Range value, double most);

/// Of so many bytes what cannot lie in a cache from one pass to the next.
double bytes_from_memory(double bytes, double cache_bytes);
/// Bytes a second at which memory gave that.
Range rate_from_memory(double bytes, double cache_bytes, Range ms);

/// How many items a run had, by its rate and its latency: the batch.
Range items_of_run(Range items_per_s, Range latency_ms);

/// Nothing in a run becomes faster by more than its products, or its bytes, do: both as ratios to the baseline's.
double most_speedup(double peak_ratio, double byte_ratio);

/// Of the stored size over fp32's.
struct SizeShare {
  int bits;           ///< Of a stored weight.
  const char* words;  ///< "half"
  Range counted;      ///< In bytes that were counted: 8-bit weights come with scales, and norms and biases stay wider.
  Range printed;      ///< In what others print: files hold more than weights, and embeddings often stay wider.
};
/// Of a weight that the row stores, its scales aside.
int stored_bits(const Precision& precision);
/// Null for a width of which nothing is expected.
const SizeShare* size_share(int bits);
inline bool contains(Range range, double value) {
  return range.low <= value && value <= range.high;
}

/// Whether a known model's perplexity can be that; yes for one of whose perplexity nothing is known.
bool is_usual_perplexity(Range perplexity, const KnownModel& model);
/// "20 to 60, which gpt2 reaches on English text in windows of 64 tokens or more"
std::string usual_perplexity_words(const KnownModel& model);

}  // namespace assay
