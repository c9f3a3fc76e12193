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

/// RoBERTa (Liu et al. 2019) and XLM-R (Conneau et al. 2020): BERT whose positions count from the ids.
extern const TensorNames roberta_tensors;
ModelConfig parse_roberta(const ConfigReader& in);
Json write_roberta(const ModelConfig& config);
Json write_xlm_roberta(const ModelConfig& config);
void emit_roberta(Blocks& b);

/// ELECTRA (Clark et al. 2020): BERT whose embeddings may be narrower than its blocks.
extern const TensorNames electra_tensors;
ModelConfig parse_electra(const ConfigReader& in);
Json write_electra(const ModelConfig& config);
void emit_electra(Blocks& b);

}  // namespace assay
