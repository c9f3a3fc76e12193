#pragma once

#include <cstdint>
#include <vector>

#include "quality/protocols.h"
#include "results/document.h"
#include "studies/bench/request.h"
#include "studies/shared/surroundings.h"

namespace assay {

/// What `assay bench --generate` asks: models, precisions, batches, data and budget as bench has them, in cells of
/// prompt, new tokens and depth.
struct GenerationBenchRequest {
  BenchRequest bench;
  std::vector<std::int64_t> prompt_tokens = {512};
  std::vector<std::int64_t> new_tokens = {128};
  std::vector<std::int64_t> depths = {0};  ///< Tokens that each row's cache holds before the prompt.
  /// In the place of bench's: scoring takes a run a token. As many rows at a time as have decoding's own kernels.
  ProtocolOptions protocol = {.window = 512, .most_tokens = 2048, .batch = 4};
  std::int64_t continuations = 16;  ///< Prompts of the text behind which greedy ids are compared; 0: none.
};

/// Times reading a prompt and adding tokens one by one, every precision of a cell interleaved: a record of each phase.
/// Throws a user error, before anything is measured, for a model that does not generate, a cell that is longer than the
/// model's context, and options of bench that say nothing here. A cell that cannot run is a row with its reason.
Document generation_bench(const GenerationBenchRequest& request, const FactsSource& facts,
                          const StudyCallbacks& callbacks);
/// A document of such records, judged, with what they say together.
Document generation_document(Document records);

}  // namespace assay
