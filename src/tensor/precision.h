#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/dtype.h"

namespace assay {

struct BlockFormat;

/// What an operation is for; the unit in which `--with` overrides a precision. `softmax` is the normalisation inside
/// attention, wherever it is computed; `kv` are keys and values that are kept for later tokens.
enum class Role : std::uint8_t { embedding, attention, mlp, norm, softmax, head, kv, loss, optimizer, other };
const char* name(Role role);
std::optional<Role> parse_role(std::string_view text);

/// How weights of fewer bits are made.
enum class Scheme : std::uint8_t {
  none,
  dynamic_int8,        ///< s8 weights per output channel, symmetric; activations quantised per token at run time.
  static_int8,         ///< The same weights; activations quantised by scales that calibration data gave.
  weight_only_int8,    ///< The same weights, dequantised on the fly; no integer arithmetic.
  float8,              ///< As dynamic_int8, in e4m3: products of floats of 8 bits, summed in f32.
  weight_only_blocks,  ///< Blocks of Precision::blocks are made, widened on the fly; no integer arithmetic.
  dynamic_blocks,      ///< Such blocks; activations quantised by token and group at run time, integer sums a group.
  as_stored,           ///< Nothing is made: each weight is what its file holds, blocks of a quantisation included.
  stored_dynamic,      ///< As as_stored, and what is in blocks is multiplied as dynamic_blocks does.
};
/// Whether weights of fewer bits are widened to the activations' dtype, which is multiplied then.
constexpr bool widens_weights(Scheme scheme) {
  return scheme == Scheme::weight_only_int8 || scheme == Scheme::weight_only_blocks || scheme == Scheme::as_stored;
}
/// Whether the file says how weights are kept.
constexpr bool takes_formats(Scheme scheme) {
  return scheme == Scheme::as_stored || scheme == Scheme::stored_dynamic;
}
/// Whether activations have scales of whole rows or tensors, which calibration makes fit.
constexpr bool takes_calibration(Scheme scheme) {
  return scheme == Scheme::dynamic_int8 || scheme == Scheme::static_int8;
}
/// Whether it cannot be had without.
constexpr bool needs_calibration(Scheme scheme) {
  return scheme == Scheme::static_int8;
}
/// Whether blocks are multiplied by integers, group by group.
constexpr bool sums_groups(Scheme scheme) {
  return scheme == Scheme::dynamic_blocks || scheme == Scheme::stored_dynamic;
}

/// How a training rounds what its matrix products multiply to 8 bits: inputs and weights to e4m3, gradients of outputs
/// to e5m2, both by scales that are powers of two (program/passes.h, round_products_to_float8).
enum class Float8Training : std::uint8_t {
  none,
  delayed,  ///< A scale a tensor, from its largest magnitudes in the steps before.
  blocks    ///< A scale for 128 neighbours (of weights for 128 x 128), from those themselves.
};

/// Where a precision runs.
enum class Runs : std::uint8_t {
  anywhere,
  by_name_off_cuda,  ///< Off CUDA devices it is emulated, and no part of "all" there.
  on_cuda,
  by_name,  ///< Anywhere, and nowhere part of "all".
};

/// How a precision decides the dtype of an operation that is not a matmul.
enum class Activations : std::uint8_t {
  as_stored,       ///< Every activation has the dtype `activations`.
  autocast_lists,  ///< PyTorch's CUDA autocast lists: matmuls in `operand`, norms, softmax and loss in f32.
  native_16bit,    ///< The 16-bit type whose matmul is native on this machine, else f32; settled before the passes.
};

/// One row of the precision table. A precision is data: every list, dtype, kernel choice, tolerance and report column
/// that depends on a precision reads it from here.
struct Precision {
  const char* name;
  DType weights;      ///< As stored in memory (the parameters).
  DType activations;  ///< As stored between operations, where `rule` is as_stored.
  Activations rule;
  DType operand;                   ///< What the matmul instruction multiplies.
  DType accumulator;               ///< What it adds in.
  DType output;                    ///< What the matmul writes.
  DType math;                      ///< What norms, softmax and the loss compute in.
  std::optional<DType> gradients;  ///< Absent: no training in this precision.
  bool master_weights;             ///< The optimizer updates the f32 weights and 16-bit copies follow.
  Scheme scheme;
  int chunk;  ///< fp16-acc16: products added in f16 before the flush to f32; else 0.
  Runs runs;
  double tolerance;  ///< Largest difference from fp32's logits over their largest magnitude that a sound run shows.
  const char* note;
  const BlockFormat* blocks = nullptr;  ///< What weights are made into, where `scheme` makes blocks; `weights` is u8.
  Float8Training float8 = Float8Training::none;
};

/// The table, in the order in which rows are printed.
std::span<const Precision> precision_table();
/// The row of that name; throws a user error that lists the names, or says which one another program's name means.
const Precision& find_precision(std::string_view name);
/// The table's name for what others call `float16`, `half` or `W8A8`, whatever its case; a name that means none of its
/// rows as it is.
std::string own_precision_name(std::string_view name);
/// Whether a device ("cpu", "cuda", "reference", ...) runs the row at all, and whether "all" means it there.
bool runs_on(const Precision& row, std::string_view device);
bool is_listed_on(const Precision& row, std::string_view device);

/// `--with norm=f16,softmax=f16,head=f32`: dtypes by role that replace what the row says.
struct RoleOverride {
  Role role;
  DType dtype;
};

/// `--with layers.3.*=int8,@head=bf16`: operations that have another row than the rest. A residual
/// sum has the path of its block ("layers.3.attn") and the role `other`.
struct LayerOverride {
  std::string pattern;  ///< Of a layer path, `*` standing for any characters; or `@` and a role: all that have it.
  Precision row;

  bool matches(std::string_view path, Role role) const;
};

/// When the 16-bit copies of f32 weights that autocast works with are made.
enum class Casts : std::uint8_t {
  once,       ///< Beforehand, and packed.
  every_call  ///< At each call, which is what autocast does and why it is often slower.
};

/// By the path of a linear layer: what one step of its input in s8 stands for. Of others each token has its own.
using ActivationScales = std::map<std::string, double>;

/// A row as a run uses it: with overrides, and with `native_16bit` settled.
struct PrecisionChoice {
  Precision row;
  std::vector<RoleOverride> overrides;
  Casts casts = Casts::once;
  std::vector<LayerOverride> layers = {};
  std::shared_ptr<const ActivationScales> scales = nullptr;  ///< What static_int8 takes; null: not calibrated.

  /// "bf16", or "bf16[softmax=f32,layers.0.*=int8]" where something is overridden.
  std::string name() const;
  /// The same without what layers have of their own: what the rest of them runs in.
  std::string rest_name() const;
  std::optional<DType> override_for(Role role) const;
  /// The override that decides there: the last that matches. Null where the row stands.
  const LayerOverride* layer_override(std::string_view path, Role role) const;
};

/// Parses "bf16" and a list like "norm=f16,head=f32,layers.0.*=int8" (may be empty); throws a user error naming the bad
/// part. Where several layer overrides match, the last decides; a role's dtype does not hold where one does.
/// `native16` is this machine's 16-bit type whose matmul is native, if any.
PrecisionChoice choose_precision(std::string_view name, std::string_view overrides, std::optional<DType> native16);

}  // namespace assay
