#pragma once

#include <optional>
#include <string>

#include "model/blocks.h"
#include "model/config_reader.h"
#include "model/families.h"

namespace assay {

/// What every encoder's configuration says in the same words: its task, by the name of the architecture, and labels.
ModelConfig parse_encoder(const ConfigReader& in);
/// Likewise. `family` begins the architecture's name: "Bert". How many classes there are is read from their names.
Json write_encoder(const ModelConfig& config, const std::string& family);

/// What a family calls the parameters of its heads (whole names), and what stands between their layers.
struct EncoderHeads {
  // Of sequences: classifier(f(dense(first token))).
  const char* dense;
  Activation function;
  const char* classifier;
  // Of masked tokens: vocabulary(norm(f(transform(x)))) + bias.
  const char* transform;
  std::optional<Activation> transform_function;  ///< Absent: the configuration's.
  const char* transform_norm;
  const char* vocabulary_bias;
};

/// Of tokens: classifier(x), in all families.
inline constexpr const char* token_classifier_name = "classifier";

/// The logits that the task asks for, of the last hidden states x (B, T, d_model).
void emit_heads(Blocks& b, ValueId x, const EncoderHeads& heads);
/// A sentence's embedding (B, d_model).
void emit_embedding(Blocks& b, ValueId x);

}  // namespace assay
