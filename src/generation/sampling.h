#pragma once

#include <cstdint>
#include <span>

#include "base/random.h"

namespace assay {

/// How the next token is chosen of a row's logits. In this order, as transformers has it: logits are divided by the
/// temperature, the `top_k` largest stay, then the fewest that hold a share of `top_p` together, then those that are at
/// least `min_p` times as probable as the most probable one; of what stays one is drawn.
struct Sampling {
  double temperature = 0;  ///< 0: the most probable token, always; of equal ones the one of the lowest id.
  std::int64_t top_k = 0;  ///< 0: all.
  double top_p = 1;
  double min_p = 0;
};

/// The first largest of a row's logits: the most probable next id. 0 where that is no number.
std::int32_t most_probable(std::span<const float> logits);

/// Whether a token can be chosen of them.
bool are_finite(std::span<const float> logits);

/// Natural logarithm of a token's probability under the logits as they are. It reads all of them and costs more than a
/// greedy choice does.
double log_probability(std::span<const float> logits, std::int32_t id);

/// An id. `logits`: finite, at least one; `random` is drawn from once for each token that is not greedy.
std::int32_t choose_token(std::span<const float> logits, const Sampling& sampling, Random& random);

}  // namespace assay
