#pragma once

#include <string>

#include "model/architecture.h"
#include "model/config.h"
#include "program/builder.h"

namespace assay {

/// What Blocks::route gives: each token's row for each of its experts, those of an expert together.
struct GroupedRows {
  ValueId rows = no_value;
  ValueId order = no_value;
  ValueId offsets = no_value;
  ValueId weights = no_value;
};

/// What the parameters of one linear layer of all experts are called.
struct ExpertList {
  std::string list;
  const char* name;
  Bias bias;
};

/// What queries and keys meet in the place of each other, where they do.
struct DistanceTables {
  ValueId by_query = no_value;
  ValueId by_key = no_value;
};

/// What learned positions count: ids that are not position_base (then an id too, that of padding), or the mask's ones.
enum class Counted : std::uint8_t { ids, mask };

/// The pieces that transformer architectures share, emitted as primitive operations. All activations are (B, T, width)
/// unless said otherwise.
class Blocks {
 public:
  Blocks(const ModelConfig& config, const ProgramOptions& options);

  const ModelConfig& config() const { return config_; }
  const ProgramOptions& options() const { return options_; }

  /// Layer path and role of what is added next: `at("layers.3.attn.q_proj", Role::attention)`.
  void at(const std::string& path, Role role) { builder_.at(path, role); }

  /// Rows of the token embedding, whose name is the family's.
  ValueId token_embedding();
  ValueId add_rows(ValueId x, const std::string& table, std::int64_t table_rows, RowChoice row);
  /// x plus the table's row of each token's type: as they are given, else of type 0.
  ValueId add_token_types(ValueId x, const std::string& table);
  /// x plus the table's row of each token's number among the real ones.
  ValueId add_counted_positions(ValueId x, const std::string& table, std::int64_t table_rows, Counted what);
  /// `name`.weight (out, in) and, where present, `name`.bias (out).
  ValueId linear(ValueId x, const std::string& name, std::int64_t out, Bias bias);
  /// Kernels add a bias always: where the family has none, it is of zeros.
  ValueId layer_norm(ValueId x, const std::string& name);
  /// `width`: of the gain; where it is narrower than x, each stretch of x is normalised by itself.
  ValueId rms_norm(ValueId x, const std::string& name, std::int64_t width);
  ValueId activation(ValueId x, Activation function);
  /// x times that factor; x itself for 1.
  ValueId scaled(ValueId x, double factor);
  /// x itself for a cap of 0.
  ValueId soft_cap(ValueId x, double cap);
  ValueId add(ValueId x, ValueId y) { return builder_.add(op::add, {x, y}); }
  ValueId multiply(ValueId x, ValueId y) { return builder_.add(op::multiply, {x, y}); }
  ValueId clamped_gate(ValueId gate, ValueId up, double scale, double cap) {
    return builder_.add(op::clamped_gate, {gate, up}, {.scale = scale, .cap = cap});
  }
  /// The rows of x, sent to the experts that the logits (B, T, experts) choose.
  GroupedRows route(ValueId x, ValueId logits);
  /// `list`.E.`name`.weight (out, in) of every expert E and, where present, `list`.E.`name`.bias (out).
  ValueId expert_linear(ValueId rows, const GroupedRows& grouped, const ExpertList& list, std::int64_t out);
  /// The weighted sum of each token's rows, (B, T, width).
  ValueId merge(ValueId rows, const GroupedRows& grouped);
  ValueId columns(ValueId x, std::int64_t offset, std::int64_t width);
  /// Rotary pairs are the family's.
  ValueId rope(ValueId x, std::int64_t heads, const Rotary& rotary);
  /// Scores, softmax and context at `path`.{scores, softmax, context}. q: heads * head_dim wide, k and v: kv_heads *
  /// head_dim. `window`: as Attributes has it. `sinks`: the name of the parameter, empty where there is none.
  ValueId attention(const std::string& path, ValueId q, ValueId k, ValueId v, std::int64_t window = 0,
                    const std::string& sinks = "");
  /// The same of an encoder whose scores count the distance from query to key too, by tables (2 span, heads *
  /// head_dim).
  ValueId attention(const std::string& path, ValueId q, ValueId k, ValueId v, const DistanceTables& tables);
  /// The parameter of that name, as a matrix that is no linear layer's.
  ValueId table(const std::string& name, std::int64_t rows, std::int64_t width);
  /// (B, T, width) -> (B, width)
  ValueId pooled(ValueId x, Pooling pooling);
  /// Notes hidden.N where hidden states are kept.
  void hidden(std::int64_t index, ValueId x);
  /// Logits of the vocabulary: x by the head's table, which is the token embedding's where they are tied. `bias`: its
  /// whole name; null where there is none.
  ValueId vocabulary_logits(ValueId x, const char* bias);
  /// The language model's head over all positions or the last one.
  void language_head(ValueId x, const char* bias = nullptr);
  /// The program's logits, and their loss where it is asked for.
  void output(ValueId logits);
  /// x with some elements dropped, where that is asked for.
  ValueId dropout(ValueId x);

  Program take() { return builder_.take(); }

 private:
  Attributes attention_attributes(std::int64_t window) const;
  /// Behind the scores.
  ValueId softmax_and_context(const std::string& path, ValueId scores, ValueId v, const Attributes& attributes,
                              const std::string& sinks);
  /// Of embedding and head: (vocab, d_model).
  ValueId token_table(const char* name);

  ModelConfig config_;
  ProgramOptions options_;
  Builder builder_;
  ValueId ids_ = no_value;
  ValueId mask_ = no_value;
  ValueId seed_ = no_value;  ///< Absent without dropout, as first_row_.
  ValueId first_row_ = no_value;
  std::int64_t dropouts_ = 0;
};

}  // namespace assay
