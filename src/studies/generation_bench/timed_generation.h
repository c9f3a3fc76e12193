#pragma once

#include <cstdint>
#include <vector>

#include "base/interrupt.h"
#include "generation/session.h"
#include "runtime/instance.h"
#include "runtime/plan.h"
#include "studies/generation_bench/cell.h"

namespace assay {

/// Rows of one precision in one cell, and the two phases of a round. What a phase needs from before it lies in the
/// cache: depth is read once, and each phase takes back what stands behind its beginning.
class TimedGeneration {
 public:
  /// `ids`: (batch, depth + prompt), of the vocabulary, there before any is read; they outlive it. Makes the plans;
  /// throws what a plan throws.
  TimedGeneration(Instance& instance, const GenerationCell& cell, const std::vector<std::int32_t>& ids,
                  const SessionOptions& options);

  /// Reads the tokens of the depth: once, before the first round. Whether it came to their end.
  bool read_depth(InterruptFlag interrupted = nullptr);
  /// Reads the prompt in pieces of prefill_chunk, and chooses each row's next id.
  void prefill();
  /// Adds the new tokens one by one behind the prompt, each row's most probable id after the other.
  void decode();

  /// Of the last decode: each token with its choice, and the choices alone.
  const std::vector<double>& token_ms() const { return token_ms_; }
  const std::vector<double>& choice_ms() const { return choice_ms_; }
  /// Of the last decode: all but the first tokens.
  double steady_s() const;
  /// Where the time of a token goes, in ms.
  struct TokenParts {
    double products = 0;   ///< With weights.
    double attention = 0;  ///< Over the cache.
    double other_kernels = 0;
    double outside = 0;  ///< Of kernels: inputs, the team's threads, the choice. Less what reading the clock takes.
  };
  /// Decodes anew with the clock read around every kernel, up to 16 tokens: the median of each part. Of the host alone.
  TokenParts trace_tokens();

  /// The id that the last phase chose for the first row. Looks whether its logits are numbers.
  std::int32_t read_id();
  /// Whether all logits were that read_id() has looked at.
  bool is_finite() const { return is_finite_; }

  /// A piece of the prompt as it is read, and how many there are of it.
  struct Piece {
    Plan* plan = nullptr;
    std::int64_t times = 0;
  };
  /// One for each length.
  std::vector<Piece> prefill_pieces();
  Plan& decode_plan();
  const Session& session() const { return session_; }

 private:
  void make_plans();
  const Plan& read(std::int64_t first, std::int64_t count);
  void choose(const Plan& plan);
  void keep_first(std::int64_t tokens);
  void begin_decoding();
  void place_token(std::int64_t index);

  const GenerationCell cell_;
  const std::vector<std::int32_t>& ids_;
  Session session_;
  std::vector<std::int32_t> first_ids_;                               ///< Behind the prompt, a row each.
  NewTokens next_{.seq = 1, .ids = {}, .mask = {}, .positions = {}};  ///< Its memory serves every token.
  std::vector<float> logits_;                                         ///< (vocabulary), of a row.
  std::vector<double> token_ms_;
  std::vector<double> choice_ms_;
  bool is_finite_ = true;
};

}  // namespace assay
