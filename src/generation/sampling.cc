#include "generation/sampling.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/error.h"

namespace assay {
namespace {

/// ln of the sum of e^logit.
double log_sum(std::span<const float> logits) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - largest);
  return largest + std::log(sum);
}

struct Candidate {
  std::int32_t id;
  double weight;  ///< Its probability times some common factor.
};

/// The `count` most probable tokens at that temperature, most probable first.
std::vector<Candidate> candidates_of(std::span<const float> logits, double temperature, std::int64_t count) {
  std::vector<std::int32_t> ids(logits.size());
  std::iota(ids.begin(), ids.end(), 0);
  const auto comes_first = [&](std::int32_t a, std::int32_t b) {
    const float x = logits[static_cast<std::size_t>(a)];
    const float y = logits[static_cast<std::size_t>(b)];
    return x != y ? x > y : a < b;
  };
  const std::int64_t all = std::ssize(ids);
  const std::int64_t kept = count > 0 ? std::min(count, all) : all;
  std::partial_sort(ids.begin(), ids.begin() + kept, ids.end(), comes_first);
  const double largest = logits[static_cast<std::size_t>(ids[0])];
  std::vector<Candidate> candidates;
  candidates.reserve(static_cast<std::size_t>(kept));
  for (std::int64_t i = 0; i < kept; ++i) {
    const std::int32_t id = ids[static_cast<std::size_t>(i)];
    candidates.push_back({id, std::exp((logits[static_cast<std::size_t>(id)] - largest) / temperature)});
  }
  return candidates;
}

double total_weight(const std::vector<Candidate>& candidates) {
  double total = 0;
  for (const Candidate& one : candidates) total += one.weight;
  return total;
}

/// The fewest first ones whose share of the whole is `top_p` at least.
void keep_share(std::vector<Candidate>& candidates, double top_p) {
  if (top_p >= 1) return;
  const double wanted = top_p * total_weight(candidates);
  double sum = 0;
  std::size_t kept = 0;
  while (kept < candidates.size() && (kept == 0 || sum < wanted)) sum += candidates[kept++].weight;
  candidates.resize(kept);
}

}  // namespace

std::int32_t most_probable(std::span<const float> logits) {
  // Lanes of their own, since compilers keep the order of a single maximum.
  std::array<float, 16> most;
  most.fill(logits.front());
  std::size_t i = 0;
  for (; i + most.size() <= logits.size(); i += most.size()) {
    for (std::size_t lane = 0; lane < most.size(); ++lane)
      most[lane] = logits[i + lane] > most[lane] ? logits[i + lane] : most[lane];
  }
  float largest = *std::max_element(most.begin(), most.end());
  for (; i < logits.size(); ++i) largest = std::max(largest, logits[i]);
  const auto found = std::find(logits.begin(), logits.end(), largest);
  return found == logits.end() ? 0 : static_cast<std::int32_t>(found - logits.begin());
}

bool are_finite(std::span<const float> logits) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::size_t i = 0; i < logits.size(); ++i) sum += logits[i] * 0;  // NaN of NaN and infinity
  return sum == 0;
}

double log_probability(std::span<const float> logits, std::int32_t id) {
  return logits[static_cast<std::size_t>(id)] - log_sum(logits);
}

std::int32_t choose_token(std::span<const float> logits, const Sampling& sampling, Random& random) {
  ASSAY_ASSERT(!logits.empty());
  if (sampling.temperature <= 0) return most_probable(logits);
  std::vector<Candidate> candidates = candidates_of(logits, sampling.temperature, sampling.top_k);
  keep_share(candidates, sampling.top_p);
  std::erase_if(candidates, [&](const Candidate& one) { return one.weight < sampling.min_p; });
  double rest = random.next_uniform() * total_weight(candidates);
  for (const Candidate& one : candidates) {
    rest -= one.weight;
    if (rest <= 0) return one.id;
  }
  return candidates.back().id;
}

}  // namespace assay
