#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/plan.h"

namespace assay {

/// Tokens that every row of a session gets in one run: (batch, seq), row by row.
struct NewTokens {
  std::int64_t seq = 0;
  std::vector<std::int32_t> ids = {};
  std::vector<std::uint8_t> mask = {};       ///< 1 real, 0 padding, which is not kept; empty: all are real.
  std::vector<std::int32_t> positions = {};  ///< In the row; below the cache's capacity.
};

struct SessionOptions {
  std::int64_t batch = 1;
  std::int64_t capacity = 0;  ///< As the instance's program was made with (with_cache).
  std::vector<std::string> outputs = {"logits"};
  Graphs graphs = Graphs::on;
  const Plan* arena_of = nullptr;                         ///< As PlanOptions has it.
  std::optional<std::int64_t> free_bytes = std::nullopt;  ///< The same.
};

/// A model with a cache, whose rows get their tokens piece by piece. Plans, one for each number of new tokens, share
/// the instance's weights, the cache and one arena.
class Session {
 public:
  /// `instance`: of a program that with_cache made. It outlives the session.
  Session(Instance& instance, SessionOptions options);

  /// Makes the plan for so many new tokens ready; the largest first, whose arena the others use. `past`: tokens that a
  /// row holds then, at which a plan that is made counts its work and bytes. Throws what Plan's constructor throws.
  Plan& plan_for(std::int64_t seq, std::int64_t past = 0);
  /// Hands the tokens to their plan: what `run` does before it runs. A user error where a row would hold more than the
  /// capacity.
  Plan& prepare(const NewTokens& tokens);
  /// Runs the tokens and keeps their keys and values; the plan holds their outputs until the next run.
  const Plan& run(const NewTokens& tokens);
  /// The tokens of what was prepared count as held from now on: what `run` does after it has run.
  void advance(const NewTokens& tokens);

  /// Tokens that each row holds.
  const std::vector<std::int32_t>& lengths() const { return lengths_; }
  /// Forgets what lies behind so many tokens of each row, which must be there; not of rings that have turned.
  void keep_first(std::span<const std::int32_t> lengths);
  std::int64_t batch() const { return options_.batch; }
  std::int64_t capacity() const { return options_.capacity; }
  /// Bytes of the cache.
  std::int64_t cache_bytes() const { return state_.bytes(); }
  const Instance& instance() const { return instance_; }

 private:
  void refuse_overflow(const NewTokens& tokens) const;

  Instance& instance_;
  SessionOptions options_;
  State state_;
  std::map<std::int64_t, std::unique_ptr<Plan>> plans_;  ///< By new tokens.
  const Plan* arena_ = nullptr;
  std::vector<std::int32_t> lengths_;
  std::vector<std::uint8_t> all_real_;  ///< The mask of tokens that have none.
};

/// Real tokens of row `row`.
std::int32_t real_tokens(const NewTokens& tokens, std::int64_t row);

}  // namespace assay
