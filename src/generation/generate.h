#pragma once

#include <functional>
#include <vector>

#include "base/interrupt.h"
#include "generation/sampling.h"
#include "generation/session.h"

namespace assay {

enum class Logprobs : std::uint8_t { left_out, kept };

struct GenerationOptions {
  std::vector<std::vector<std::int32_t>> prompts;  ///< One a row of the session, at least an id each.
  std::int64_t most_new = 128;                     ///< Ids a row.
  std::vector<std::int32_t> end_ids = {};          ///< A row ends with the first of them.
  Sampling sampling = {};
  Logprobs logprobs = Logprobs::kept;
  std::uint64_t seed = 1;    ///< Each row draws from a stream of its own.
  std::int64_t chunk = 512;  ///< The most ids of a prompt in one run.
  InterruptFlag interrupted = nullptr;
  /// Told each id once the run that chose it was timed; may be empty.
  std::function<void(std::int64_t row, std::int32_t id)> told = nullptr;
};

struct Generation {
  std::vector<std::vector<std::int32_t>> sequences;  ///< New ids of each row, that at which it ended included.
  std::vector<std::vector<double>> logprobs;         ///< log_probability of each, where they are kept.
  double prefill_ms = 0;                             ///< Prompts, up to the choice of each row's first id.
  std::vector<double> token_ms;                      ///< Each later run, with its choices, without what is told.
  bool is_interrupted = false;
};

/// Reads the prompts, then adds an id to every row that has not ended, again and again. Positions count from each
/// prompt's first id. The session is of a program with LogitRows::last, holds nothing yet, and has room. Plans are made
/// before the clock starts. Throws a user error where logits are not finite.
Generation generate(Session& session, const GenerationOptions& options);

}  // namespace assay
