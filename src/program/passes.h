#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "program/program.h"
#include "tensor/precision.h"

namespace assay {

/// Gives every value its dtype and inserts the casts and quantisations that the precision asks for. Weights keep f32 as
/// they come from the checkpoint; what is stored is the result of a constant cast or quantisation of them. The row's
/// `native_16bit` must have been settled. `formats`: how the checkpoint holds weights, for rows that take them so; a
/// weight that is not among them is f32.
///
/// - as_stored: weights in `weights`, matmuls in `operand`, every activation in `activations`; norm gains and biases
/// are
///   rounded to `weights` and handed to kernels widened to f32.
/// - autocast_lists: PyTorch's CUDA autocast. Matmul operands are cast to `operand`, norms and softmax run in f32,
///   everything else in the widest dtype of its inputs.
/// - A layer override gives every operation that it matches another row: its inputs are cast to what that row reads,
/// and
///   what it writes is as that row says, for the next operation to cast. A user error where it matches nothing.
/// - An override by role makes the operation's inputs and arithmetic that dtype; its output is cast back to what the
///   row says, except the head's. The embedding's tables and their sum are in that dtype, and unquantised.
Program assign_dtypes(const Program& program, const PrecisionChoice& precision, const WeightFormats& formats = {});

/// What the checkpoint calls weights, by their names in the Program.
using CheckpointNames = std::map<std::string, std::string>;

/// The choice with overrides of layers that a pattern names as the checkpoint does ("model.layers.3.mlp.down_proj",
/// "layers.3.mlp.down_proj.weight") by the paths of those layers instead. Patterns of paths stay as they are, and so do
/// those of neither.
PrecisionChoice named_by_path(PrecisionChoice precision, const Program& program, const CheckpointNames& names);

/// The override that decides about this operation; null where the precision's own row does, or where the override asks
/// for that very row. A residual sum stands under the path of the layer whose output it adds, and is its block's:
/// "layers.0.attn", role `other`.
const LayerOverride* layer_override(const PrecisionChoice& precision, const Node& node);
/// Whether the override is about this operation.
bool matches(const LayerOverride& layer, const Node& node);
/// Whether it is about any operation of the program.
bool matches_any(const LayerOverride& layer, const Program& program);

/// How much of the past a program with a cache can hold.
struct CacheSize {
  std::int64_t capacity = 0;  ///< Tokens of a row, old and new.
  std::int64_t chunk = 1;     ///< The most new tokens of one run: what a windowed layer keeps beside its window.
};

/// The same model for tokens that come in pieces: attention writes the new keys and values into caches, which are state
/// (B, slots, kv_heads * head_dim), and reads all of them. `program` is as build_program makes it, in f32. It gets two
/// more inputs: "positions" s32 (B, T), that of each token in its row, below the capacity (of a model that learned
/// positions for counted tokens they are not read), and "cache_lengths" s32 (B), the tokens that each row's cache holds
/// already. The mask says which of the new tokens are real: those alone are kept. Rotary bases that depend on the
/// length of a sequence take it to be the capacity. A user error where attention is not causal.
Program with_cache(const Program& program, const CacheSize& size);

/// What the program is for.
enum class Purpose : std::uint8_t {
  inference,  ///< Weights are constants: joined, packed and cast beforehand.
  training    ///< Weights are state that an optimizer writes; intermediates that gradients need stay.
};

/// Parameters that a training leaves as they are: constants, as in inference.
struct FrozenWeights {
  std::set<std::string> names = {};
  /// Of linear layers and tables of tokens that are frozen: a row that widens weights, settled to `precision`'s
  /// operand. Absent: the precision's own.
  std::optional<Precision> base = std::nullopt;
  WeightFormats formats = {};  ///< How the checkpoint holds weights, for a base that takes them so.
};
/// The row that keeps frozen weights beside a training in `precision`: what it widens to is what that multiplies.
/// Throws a user error for a row that does more than keep weights.
Precision base_row(const Precision& row, const Precision& precision);

/// The same with parameters as state: each has the dtype in which the precision stores it.
Program assign_training_dtypes(const Program& program, const PrecisionChoice& precision,
                               const FrozenWeights& frozen = {});

/// Which forward values the backward computes again instead of keeping them.
enum class Recompute : std::uint8_t {
  none,
  attention,  ///< Scores and probabilities of attention whose parts are apart.
  block       ///< Everything inside a block (layers.N) but its input (Chen et al. 2016).
};
const char* name(Recompute recompute);
/// Throws a user error for any other word.
Recompute parse_recompute(std::string_view text);

enum class Gradients : std::uint8_t {
  written,  ///< Over what was there.
  added     ///< To what is there: one of several batches of a step.
};

struct DifferentiateOptions {
  std::string of = "loss";          ///< The output that is differentiated.
  std::string seed = "loss_scale";  ///< Input of the output's shape and dtype; added where it is not there yet.
  Recompute recompute = Recompute::none;
  Gradients gradients = Gradients::written;
  std::optional<DType> stored_as = std::nullopt;  ///< Gradients of parameters; absent: in the parameter's dtype.
};

/// Appends the backward: the gradient of sum(of * seed) with respect to every parameter that it depends on, as state
/// and output "grad.<parameter>". The program comes from assign_training_dtypes.
Program differentiate(const Program& program, const DifferentiateOptions& options);

/// What becomes of the scales of round_products_to_float8.
enum class ScaleHistory : std::uint8_t {
  kept,  ///< Each tensor that changes has one, a state: Float8Training::delayed takes the scale from it, and all count
         ///< in it what the scale let in (float8_history.h).
  none   ///< Every scale is of the values themselves.
};
/// Rounds what linear layers and their gradients multiply to 8 bits, each value once (op::round_float8): x and W to
/// e4m3, dy to e5m2. The head stays as it is, and so does what the row of its layer leaves alone. Behind
/// `differentiate`, for gradients pass a rounding as if it were none.
Program round_products_to_float8(const Program& program, const PrecisionChoice& precision, ScaleHistory history);

enum class Fusion : std::uint8_t { on, off };

/// Joins operations that one kernel can do, without changing what is computed beyond the rounding of values that are no
/// longer stored: linears of one input (Q, K, V; gate and up) into one, bias + activation, residual + norm, gated
/// activations, attention without its T x T matrix, casts into their producer.
/// For training: a gate or residual keeps what its gradient needs, linears stay apart from each other and from their
/// activations, and a weight is cast by the kernel that packs it.
Program fuse(const Program& program, Purpose purpose = Purpose::inference);

/// Behind `differentiate`: a sum of gradients is written by the operation that makes its last part.
Program fuse_gradients(const Program& program);

}  // namespace assay
