#pragma once

#include <span>
#include <string_view>

namespace assay {

/// What is public of a model that studies of precision use. 0: not known, or does not apply.
struct KnownModel {
  const char* name;
  const char* spellings;  ///< Others, separated by '|', in lower case; '-', '_' and spaces count alike.
  double parameters;
  int layers;
  int width;
  double embedding_parameters;  ///< Looked up, not multiplied; counted in `parameters`. An output table tied to it is
                                ///< multiplied all the same: then 0.
  /// Perplexity on English prose in windows of 64 tokens or more that a sound evaluation stays within.
  double perplexity_low;
  double perplexity_high;
  double accuracy_low;  ///< On `accuracy_data`, of the usual fine-tuned checkpoint.
  double accuracy_high;
  const char* accuracy_data;
  int accuracy_rows;
  const char* source;  ///< Of these figures.
};

std::span<const KnownModel> known_models();
/// The model of that name or spelling, whatever its case; null where it is none of them. "small", "xl" and "2.7b" are
/// everyday words, and sizes of CS336 only where `context` (what stands around the name) says "cs336".
const KnownModel* find_known_model(std::string_view name, std::string_view context = {});
/// The one known model that `text` names as whole words; null for none, or for several.
const KnownModel* known_model_named_in(std::string_view text);

}  // namespace assay
