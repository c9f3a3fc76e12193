#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/block_format.h"
#include "tensor/dtype.h"
#include "tensor/precision.h"
#include "tensor/tensor.h"

namespace assay {

/// The batch size and sequence length at which symbolic shapes become concrete.
struct Extent {
  std::int64_t batch = 1;
  std::int64_t seq = 1;
  std::int64_t past = 0;  ///< Tokens that each row's cache holds before, for what is counted of the work on them.
};

/// One axis: factor * B^batch_power * T^seq_power. Products of such axes are such axes, which is all that models need.
struct Dim {
  std::int64_t factor = 1;
  std::uint8_t batch_power = 0;
  std::uint8_t seq_power = 0;

  std::int64_t at(Extent extent) const;
  friend Dim operator*(Dim a, Dim b);
  friend bool operator==(const Dim&, const Dim&) = default;
};
constexpr Dim dim_batch{1, 1, 0};
constexpr Dim dim_seq{1, 0, 1};
/// A constant axis. Throws a defect where it is not positive.
Dim dim(std::int64_t extent);

using SymbolicShape = std::vector<Dim>;
Shape concrete(const SymbolicShape& shape, Extent extent);
/// "(B, T, 768)".
std::string to_string(const SymbolicShape& shape);

using ValueId = std::int32_t;
constexpr ValueId no_value = -1;  ///< An optional input that is absent, or an output that nobody wants.

enum class Source : std::uint8_t {
  input,
  weight,
  computed,
  state  ///< A tensor that outlives runs and that a run may write: parameters in training, gradients, moments.
};

/// The part of a training step that a node belongs to.
enum class Phase : std::uint8_t { forward, backward, optimizer };
const char* name(Phase phase);

/// A named tensor of the program.
struct Value {
  std::string name;  ///< Weights: the name in the checkpoint. Others: "layers.3.attn.q_proj".
  DType dtype = DType::f32;
  SymbolicShape shape;
  Source source = Source::computed;
  bool constant = false;  ///< A weight, or computed from weights alone: made once, before anything runs.
};

enum class Activation : std::uint8_t { none, relu, gelu_erf, gelu_tanh, silu, tanh };
const char* name(Activation activation);

/// Which rotary pairs turn together: (i, i + d/2), or (2i, 2i + 1).
enum class RotaryPairs : std::uint8_t { halves, interleaved };

/// How published models stretch rotary positions past the context that they were first trained with; the names are
/// those of config.json's rope_type.
enum class RopeType : std::uint8_t { plain, linear, dynamic, llama3, yarn, longrope };
const char* name(RopeType type);
struct RopeScaling {
  RopeType type = RopeType::plain;
  double factor = 1;                ///< All but longrope: how much longer the context becomes.
  std::int64_t original = 0;        ///< Positions that the model was first trained with.
  double low = 1;                   ///< llama3: low_freq_factor; yarn: beta_slow.
  double high = 4;                  ///< llama3: high_freq_factor; yarn: beta_fast.
  bool whole = true;                ///< yarn: its range begins and ends at whole pairs (truncate).
  double magnitude = 1;             ///< yarn, longrope: sines and cosines are multiplied by it.
  std::vector<double> narrow = {};  ///< longrope: what divides each pair's frequency up to `original` positions,
  std::vector<double> wide = {};    ///< and beyond.

  bool operator==(const RopeScaling&) const = default;
};

/// Which row an operation picks: of a table, the one of the token's position or the first; of a sequence, first or
/// last.
enum class RowChoice : std::uint8_t { by_position, first, last };

/// Which row of a table the distance from a query to a key has: row(0) = span, a row for each of the shorter distances
/// on both sides, and beyond those one for each step of a logarithm (DeBERTa v2; He et al. 2021). The table has 2 span
/// rows, and what is farther than them shares the first or last.
struct RelativePositions {
  std::int64_t span = 0;      ///< 0: no table.
  std::int64_t farthest = 0;  ///< The distance at which logarithms end; 0: every distance has a row.

  bool operator==(const RelativePositions&) const = default;
};
/// Whose vector meets the row of a distance.
enum class ScoredBy : std::uint8_t { query, key };

/// Two readings of "Decoupled weight decay regularization" (Loshchilov & Hutter 2019).
enum class AdamW : std::uint8_t {
  pytorch,  ///< w (1 - lr decay) - lr m^ / (sqrt(v^) + epsilon), m^ and v^ corrected for their start at zero
  cs336     ///< w' = w - lr sqrt(1 - beta2^t) / (1 - beta1^t) m / (sqrt(v) + epsilon); then w' (1 - lr decay)
};

enum class Rounding : std::uint8_t { nearest, stochastic };

/// Everything besides tensors that an operation may need; each operation's file says which fields it reads.
struct Attributes {
  double epsilon = 0;                        ///< norms
  Activation activation = Activation::none;  ///< activation, gated_activation, and linear's fused epilogue
  std::int64_t heads = 0;                    ///< attention, rope: query heads (rope: heads of its input)
  std::int64_t kv_heads = 0;                 ///< attention: key and value heads; divides heads
  std::int64_t head_dim = 0;
  double scale = 1;         ///< attention: scores are multiplied by it; affine: its factor; clamped_gate: its sigmoid's
  double shift = 0;         ///< affine: what is added
  double cap = 0;           ///< soft_cap, clamped_gate; attention: scores go through a soft cap; 0: they do not
  bool causal = false;      ///< attention: position t sees positions 0..t
  std::int64_t window = 0;  ///< attention: and none that is so many positions away or more; 0: at any distance
  double rope_theta = 10000;
  std::int64_t positions = 0;   ///< rope with given positions: one more than the largest; how long the sequence is
  std::int64_t rotary_dim = 0;  ///< rope: so many first columns of a head turn, the rest is copied; 0: all of them
  RopeScaling rope_scaling = {};
  RotaryPairs pairs = RotaryPairs::halves;
  RowChoice row = RowChoice::by_position;
  RelativePositions relative = {};       ///< relative_scores and its gradients,
  ScoredBy scored_by = ScoredBy::query;  ///< and which of the two that is
  std::int64_t offset = 0;               ///< slice_columns: first column; count_positions: the number before the first
  std::int64_t width = 0;   ///< slice_columns: columns; block_embedding: values of a row, 0: all that its blocks hold;
                            ///< block_adamw, round_float8: elements that share a scale
  DType math = DType::f32;  ///< norms, softmax: dtype of the arithmetic inside; products: what the first was rounded to
  int chunk = 0;            ///< linear with an f16 accumulator: products added before the flush to f32
  DType accumulator = DType::f32;   ///< linear
  DType operand = DType::f32;       ///< linear and its input gradient: a wider W is rounded to it first; round_float8
  bool inverse = false;             ///< rope: turns backwards
  std::int64_t rows = 0;            ///< embedding_gradient, add_rows_gradient: rows of the table; round_float8: rows
                                    ///< that share a scale
  std::int64_t padding_id = -1;     ///< embedding and its gradient: the id that gives its row none; -1: every id does.
                                    ///< count_positions: what stands where nothing is
  std::int64_t experts = 0;         ///< route, group_rows, expert_linear_weight_gradient: how many there are
  std::int64_t active_experts = 0;  ///< route: how many each token is given to
  bool normalised = false;          ///< route: the weights of a token's experts add up to 1
  double rate = 0;                  ///< dropout: the share that becomes zero
  std::int64_t stream = 0;  ///< dropout, optimizers (the first parameter's): tells random numbers of one seed apart
  double beta1 = 0;         ///< adamw; sgd: momentum
  double beta2 = 0;         ///< adamw
  double weight_decay = 0;  ///< adamw (decoupled), sgd (added to the gradient)
  AdamW adamw = AdamW::pytorch;
  Rounding rounding = Rounding::nearest;        ///< optimizers: how the new weight is rounded to its dtype
  Rounding state_rounding = Rounding::nearest;  ///< adamw: how new moments in bf16 are rounded
  const BlockFormat* blocks = nullptr;          ///< Operations with weights in blocks: what their rows are
  double output_scale = 0;  ///< What stores s8: round(y / output_scale), within +-127; 0: nothing does

  bool operator==(const Attributes&) const = default;
};

struct Operation;

struct Node {
  const Operation* operation = nullptr;
  std::vector<ValueId> inputs;   ///< no_value where an optional input is absent
  std::vector<ValueId> outputs;  ///< no_value where an output is not wanted
  Attributes attributes;
  std::string path;  ///< Layer path: "layers.3.attn.q_proj".
  Role role = Role::other;
  Phase phase = Phase::forward;
  const char* precision = "";  ///< Row that decided its dtypes, where that is not the rest's.
};

struct NamedValue {
  std::string name;
  ValueId value = no_value;
};

/// A model, or a step of it, described once: a flat list of operations over named values, in an order in which each
/// input is computed before it is used. It knows no device. Shapes are symbolic in B and T.
struct Program {
  std::vector<Value> values;
  std::vector<Node> nodes;
  std::vector<NamedValue> inputs;   ///< "input_ids" s32 (B, T), "attention_mask" u8 (B, T)
  std::vector<NamedValue> outputs;  ///< "logits", "hidden.0", ...: kept until the end of a run

  const Value& value(ValueId id) const { return values[static_cast<std::size_t>(id)]; }
  Value& value(ValueId id) { return values[static_cast<std::size_t>(id)]; }
  /// The value of that name among `outputs`, or no_value.
  ValueId output(std::string_view name) const;
};

/// Floating-point operations of the node; a multiply-add counts two. Masked-away work of causal attention is not
/// counted.
double flops(const Program& program, const Node& node, Extent extent);
/// Bytes that the node must read and write at least.
double bytes(const Program& program, const Node& node, Extent extent);
/// Bytes of a value's dense storage.
std::int64_t storage_bytes(const Program& program, ValueId value, Extent extent);
/// The names of its outputs, in order.
std::vector<std::string> output_names(const Program& program);
/// How often each value is read by nodes or kept as an output.
std::vector<int> use_counts(const Program& program);
/// The program as text, one operation a line: outputs = operation(inputs) {attributes}   path, role.
std::string to_string(const Program& program);

}  // namespace assay
