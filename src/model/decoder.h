#pragma once

#include <string>

#include "base/json_fwd.h"
#include "model/config_reader.h"
#include "model/rotary.h"

namespace assay {

class Blocks;

/// What a family calls the parameters of its experts, behind "layers.N.".
struct ExpertNames {
  const char* router = nullptr;
  const char* list = nullptr;  ///< Of expert 3: "mlp.experts" gives "mlp.experts.3.gate_proj".
  const char* gate = nullptr;
  const char* up = nullptr;
  const char* down = nullptr;
};

/// What a family calls the parameters of one block, behind `layers`.N.; null where it has none of that kind. Queries,
/// keys and values are three matrices or one, gate and up two or one.
struct DecoderNames {
  const char* attention_norm;  ///< Before attention; of a family with norms behind only, of its output.
  const char* q;               ///< Or of queries, keys and values in one, where k is null.
  const char* k;
  const char* v;
  const char* out;
  const char* mlp_norm;
  const char* gate;  ///< Or of gate and up in one, where up is null; null where the MLP has no gate.
  const char* up;
  const char* down;
  const char* q_norm = nullptr;
  const char* k_norm = nullptr;
  const char* attention_norm_behind = nullptr;  ///< Of a family with norms around attention and MLP.
  const char* mlp_norm_behind = nullptr;
  const char* sinks = nullptr;
  ExpertNames experts = {};
  const char* positions = nullptr;   ///< A whole name: learned ones, of the mask, two rows longer than the context.
  const char* last_norm = "norm";    ///< Behind the last block; a whole name. Null: each block ends in one.
  const char* project_in = nullptr;  ///< From embeddings of another width to the blocks', and back: whole names.
  const char* project_out = nullptr;
  const char* layers = "layers";  ///< The list of blocks.
  /// A whole name: of a family that normalises embeddings, and them alone before the first attention.
  const char* embedding_norm = nullptr;
  const char* head_bias = nullptr;  ///< A whole name.
};

/// Embeddings, blocks and the last norm, (B, T, d_model): all of a decoder but its head, and an encoder of such blocks.
ValueId emit_blocks(Blocks& b, const DecoderNames& names);

/// Decoder with rotary positions and a gated MLP (Touvron et al. 2023; Shazeer 2020); everything in which families
/// differ stands in ModelConfig.
void emit_decoder(Blocks& b, const DecoderNames& names);

/// Which layers a family can give a window: what others say of one changes nothing there.
enum class Windowed : std::uint8_t {
  none,
  all,    ///< Every layer, where there is one.
  listed  ///< As `layer_types` says, else as its own pattern is.
};

/// What most families say in Llama's words: sizes, the norm's epsilon, rotary positions, a window; and where a family
/// has a word or a usual value of its own.
struct DecoderWords {
  const char* epsilon_key = "rms_norm_eps";
  double epsilon = 1e-6;
  const char* activation_key = "hidden_act";
  const char* activation = "silu";
  RotaryWords rotary = {};
  Windowed windowed = Windowed::none;
  bool window_is_asked_for = false;     ///< `sliding_window` counts where `use_sliding_window` says so only.
  std::int64_t first_window_layer = 0;  ///< What `max_window_layers` is where it is not said.
  std::int64_t window = 0;              ///< What `sliding_window` is where it is not said; 0: none.
  std::int64_t whole_layer_every = 0;   ///< `sliding_window_pattern`: so many-th layers have no window; 0: all have.
};
/// Whether `layer_types`, which is there, gives the layer a window.
bool is_window_layer(const ConfigReader& in, std::int64_t layer);
/// The same list again.
Json layer_types(const ModelConfig& config);
ModelConfig parse_decoder(const ConfigReader& in, const DecoderWords& words);
/// Those entries again; the family adds its own.
Json write_decoder(const ModelConfig& config, const char* architecture, const DecoderWords& words);

}  // namespace assay
