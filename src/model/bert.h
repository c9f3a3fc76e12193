#pragma once

#include "model/families.h"

namespace assay {

/// BERT (Devlin et al. 2018): embeddings (mean over real positions), or a classifier over the first token.
ModelConfig parse_bert(const ConfigReader& in);
Json write_bert(const ModelConfig& config);
void emit_bert(Blocks& b);
extern const TensorNames bert_tensors;

/// DistilBERT (Sanh et al. 2019): BERT of half the layers without token types and pooler.
ModelConfig parse_distilbert(const ConfigReader& in);
Json write_distilbert(const ModelConfig& config);
void emit_distilbert(Blocks& b);
extern const TensorNames distilbert_tensors;

}  // namespace assay
