#pragma once

#include <functional>
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

/// What the parameters of one encoder layer are called.
struct EncoderLayerNames {
  std::string query, key, value, attention_out, attention_norm, up, down, output_norm;
};
/// BERT's: "encoder.layer.3.attention.self.query", ...
EncoderLayerNames bert_layer_names(std::int64_t layer);

/// Attention's context at `path` of queries, keys and values.
using Attend = std::function<ValueId(const std::string& path, ValueId q, ValueId k, ValueId v)>;
/// ln(x + f(x)) twice: attention, then the MLP (Devlin et al. 2018).
ValueId encoder_block(Blocks& b, ValueId x, const EncoderLayerNames& names, std::int64_t layer, const Attend& attend);

/// Of tokens: classifier(x), in all families.
inline constexpr const char* token_classifier_name = "classifier";

/// The logits that the task asks for, of the last hidden states x (B, T, d_model).
void emit_heads(Blocks& b, ValueId x, const EncoderHeads& heads);
/// A sentence's embedding (B, d_model).
void emit_embedding(Blocks& b, ValueId x);

}  // namespace assay
