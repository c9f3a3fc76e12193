#pragma once

#include <optional>

#include "base/json_fwd.h"
#include "model/config_reader.h"

namespace assay {

/// What `layer_types` and `rope_parameters` call the two kinds of layers.
inline constexpr const char* whole_layer_type = "full_attention";
inline constexpr const char* window_layer_type = "sliding_attention";

/// Words and usual values of one family.
struct RotaryWords {
  const char* theta_key = "rope_theta";
  double theta = 10000;
  const char* share_key = "partial_rotary_factor";
  double share = 1;
  bool plain_turn_a_share = false;  ///< Whether the share counts where positions are not stretched, too.
  /// Layers with a window turn by a base of their own, this one where `window_theta_key` does not say another; 0:
  /// by that of the others, which may be stretched while theirs is not.
  std::optional<double> window_theta = std::nullopt;
  const char* window_theta_key = "rope_local_base_freq";
};

/// What config.json says of rotary positions, in the words of transformers 5 (`rope_parameters`, which may differ by
/// kind of layer) or of 4 (`rope_theta`, `rope_scaling`, `partial_rotary_factor`; `rope_scaling` counts where both
/// stand): `rotary` and `window_rotary` of `config`, whose context and head size stand already. The context becomes
/// `factor` times as long where positions are `dynamic`, which stretch beyond it only. Throws a user error for a
/// rope_type that is unknown and for what its type needs and lacks.
void read_rotary(const ConfigReader& in, const RotaryWords& words, ModelConfig& config);
/// What `max_position_embeddings` is to say of it.
std::int64_t said_context(const ModelConfig& config);
/// Adds them so that readers of either age find them.
void write_rotary(const ModelConfig& config, const RotaryWords& words, Json& json);

}  // namespace assay
