#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "quality/averages.h"
#include "results/document.h"
#include "studies/shared/engine.h"
#include "studies/shared/quality_data.h"
#include "studies/shared/surroundings.h"

namespace assay {

// Perplexities of one model on one text differ by whole factors with how the text was cut, padded and averaged, and
// publications seldom say which. This runs padded rows once with and once without their mask and averages the same
// losses in every way, so that each choice has its own figure.

enum class MaskUse : std::uint8_t { passed, withheld };
const char* name(MaskUse mask);

/// The loss of padded rows under one combination of choices.
struct RowsFigure {
  MaskUse mask = MaskUse::passed;
  AverageOptions options;
  Average average;
};

/// The loss of continuous text in windows; every id but the first of each is scored, mean over tokens.
struct WindowFigure {
  std::int64_t window = 0;
  std::int64_t scored = 0;
  double nll = 0;
};

/// One language model in fp32.
struct PerplexityRequest {
  std::string model;
  /// A folder of .npy arrays, or text, which is cut by `padded-lines` and, for the length of the context, by `window`;
  /// `protocol.most_tokens` bounds both.
  QualityRequest quality;
  EngineOptions engine;
  ModelOptions model_options;
};

struct PerplexityStudy {
  Setting setting;  ///< What its records share: model, weights, machine.
  QualityStatus quality_status = {};
  OrderedJson machine;
  std::optional<ScoredPart> part = {};  ///< Of the rows, where an interrupt left others unscored.
  std::string data;
  std::string cut;           ///< Protocol that cut the rows.
  bool padded_right = true;  ///< Of every row: no id follows a padding id.
  std::int64_t rows = 0;
  std::int64_t seq = 0;
  std::int64_t padding = 0;           ///< Of rows * seq positions.
  std::vector<std::int64_t> batches;  ///< Rows a batch, over which means are taken.
  std::vector<std::int64_t> lengths;  ///< Of which the rows are cut, ascending; the last one is seq.
  std::vector<RowsFigure> figures;    ///< The honest one first.
  std::vector<WindowFigure> windows;  ///< Of text; empty for given rows.

  /// The figure of that combination; it exists.
  const RowsFigure& at(MaskUse mask, const AverageOptions& options) const;
  /// Padding not scored, mask passed, whole rows, mean over tokens.
  const RowsFigure& honest() const { return figures.front(); }
};

/// Throws a user error for other models and data. After an interrupt the study holds what was measured so far.
PerplexityStudy study_perplexity(const PerplexityRequest& request, const MachineFacts& facts,
                                 const StudyCallbacks& callbacks);

/// Sentences that say what each choice adds to the honest loss, in nats.
std::vector<std::string> perplexity_sentences(const PerplexityStudy& study);
/// A record for each figure, the sentences as findings, and the perplexities as tables.
Document to_document(const PerplexityStudy& study);

}  // namespace assay
