#include "model/decoder.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/json.h"
#include "base/printable.h"
#include "model/blocks.h"
#include "model/families.h"
#include "model/rotary.h"

namespace assay {
namespace {

/// One block of one model, while it is emitted.
struct DecoderBlock {
  Blocks& b;
  const DecoderNames& names;
  std::int64_t layer;
  std::string path = fmt::format("layers.{}", layer);

  const ModelConfig& config() const { return b.config(); }
  std::string weight(const char* name) const { return fmt::format("{}.{}.{}", names.layers, layer, name); }

  ValueId linear(ValueId x, const char* place, Role role, const char* name, std::int64_t out, Bias bias) const {
    b.at(path + place, role);
    return b.linear(x, weight(name), out, bias);
  }

  ValueId norm(ValueId x, const char* place, const char* name) const {
    b.at(path + place, Role::norm);
    if (config().norm == NormKind::rms) return b.rms_norm(x, weight(name), config().d_model);
    return b.layer_norm(x, weight(name));
  }

  /// The first one stands behind the embeddings where a family has it there.
  ValueId attention_norm(ValueId x) const {
    return layer == 0 && names.embedding_norm != nullptr ? x : norm(x, ".ln1", names.attention_norm);
  }

  /// Of each head's columns, or of all of them together.
  ValueId head_norm(ValueId x, const char* place, const char* name, std::int64_t heads) const {
    if (config().head_norm == HeadNorm::absent) return x;
    b.at(path + place, Role::norm);
    const bool whole = config().head_norm == HeadNorm::whole;
    return b.rms_norm(x, weight(name), whole ? heads * config().head_dim : config().head_dim);
  }

  ValueId rope(ValueId x, std::int64_t heads) const {
    const std::vector<std::uint8_t>& turns = config().rotary_layers;
    if (!config().family->rotary) return x;
    if (!turns.empty() && turns[static_cast<std::size_t>(layer)] == 0) return x;
    b.at(path + ".attn.rope", Role::attention);
    return b.rope(x, heads, window() > 0 && config().window_rotary ? *config().window_rotary : config().rotary);
  }

  std::int64_t window() const {
    return config().windows.empty() ? 0 : config().windows[static_cast<std::size_t>(layer)];
  }

  struct Projections {
    ValueId q, k, v;
  };
  Projections projections(ValueId x) const {
    const ModelConfig& c = config();
    const std::int64_t q = c.heads * c.head_dim;
    const std::int64_t kv = c.kv_heads * c.head_dim;
    if (names.k == nullptr) {
      const ValueId all = linear(x, ".attn.qkv_proj", Role::attention, names.q, q + 2 * kv, c.qkv_bias);
      return {b.columns(all, 0, q), b.columns(all, q, kv), b.columns(all, q + kv, kv)};
    }
    return {linear(x, ".attn.q_proj", Role::attention, names.q, q, c.qkv_bias),
            linear(x, ".attn.k_proj", Role::attention, names.k, kv, c.qkv_bias),
            linear(x, ".attn.v_proj", Role::attention, names.v, kv, c.qkv_bias)};
  }

  ValueId attention(ValueId x) const {
    const ModelConfig& c = config();
    auto [q, k, v] = projections(x);
    q = rope(head_norm(q, ".attn.q_norm", names.q_norm, c.heads), c.heads);
    k = rope(head_norm(k, ".attn.k_norm", names.k_norm, c.kv_heads), c.kv_heads);
    const ValueId h = b.attention(path + ".attn", q, k, v, window(), c.sinks ? weight(names.sinks) : "");
    return linear(h, ".attn.out_proj", Role::attention, names.out, c.d_model, c.out_bias);
  }

  /// down(f(up(x)))
  ValueId plain_mlp(ValueId x) const {
    const ModelConfig& c = config();
    const ValueId h = b.activation(linear(x, ".mlp.up_proj", Role::mlp, names.up, c.d_ff, c.mlp_bias), c.activation);
    return linear(h, ".mlp.down_proj", Role::mlp, names.down, c.d_model, c.mlp_bias);
  }

  bool has_experts() const {
    const std::vector<std::uint8_t>& layers = config().expert_layers;
    return config().experts > 0 && (layers.empty() || layers[static_cast<std::size_t>(layer)] != 0);
  }

  ValueId expert_linear(ValueId rows, const GroupedRows& grouped, const char* place, const char* name,
                        std::int64_t out) const {
    b.at(path + place, Role::mlp);
    return b.expert_linear(rows, grouped, {weight(names.experts.list), name, config().expert_bias}, out);
  }

  /// The sum of a token's experts, each an MLP as below, by the router's weights.
  ValueId expert_mlp(ValueId x) const {
    const ModelConfig& c = config();
    const ExpertNames& own = names.experts;
    const ValueId logits = linear(x, ".mlp.router", Role::mlp, own.router, c.experts, c.router_bias);
    b.at(path + ".mlp.route", Role::mlp);
    const GroupedRows grouped = b.route(x, logits);
    const ValueId gate = expert_linear(grouped.rows, grouped, ".mlp.experts.gate_proj", own.gate, c.expert_d_ff);
    const ValueId up = expert_linear(grouped.rows, grouped, ".mlp.experts.up_proj", own.up, c.expert_d_ff);
    b.at(path + ".mlp.experts.gate", Role::mlp);
    const ValueId h = c.expert_cap > 0 ? b.clamped_gate(gate, up, c.expert_scale, c.expert_cap)
                                       : b.multiply(b.activation(gate, c.activation), up);
    const ValueId y = expert_linear(h, grouped, ".mlp.experts.down_proj", own.down, c.d_model);
    b.at(path + ".mlp.merge", Role::mlp);
    return b.merge(y, grouped);
  }

  /// down(f(gate(x)) * up(x))   (Shazeer 2020)
  ValueId mlp(ValueId x) const {
    const ModelConfig& c = config();
    if (has_experts()) return expert_mlp(x);
    if (names.gate == nullptr) return plain_mlp(x);
    ValueId gate = no_value;
    ValueId up = no_value;
    if (names.up == nullptr) {
      const ValueId both = linear(x, ".mlp.gate_up_proj", Role::mlp, names.gate, 2 * c.d_ff, c.mlp_bias);
      gate = b.activation(b.columns(both, 0, c.d_ff), c.activation);
      up = b.columns(both, c.d_ff, c.d_ff);
    } else {
      gate = b.activation(linear(x, ".mlp.gate_proj", Role::mlp, names.gate, c.d_ff, c.mlp_bias), c.activation);
      up = linear(x, ".mlp.up_proj", Role::mlp, names.up, c.d_ff, c.mlp_bias);
    }
    b.at(path + ".mlp.gate", Role::mlp);
    const ValueId h = b.multiply(gate, up);
    return linear(h, ".mlp.down_proj", Role::mlp, names.down, c.d_model, c.mlp_bias);
  }

  /// What a part adds to its input; the path is the part's.
  ValueId add(ValueId x, ValueId result) const { return b.add(x, b.scaled(result, config().residual_scale)); }

  ValueId emit(ValueId x) const {
    switch (config().norms) {
      case NormPlace::before:
        x = add(x, attention(attention_norm(x)));
        return add(x, mlp(norm(x, ".ln2", names.mlp_norm)));
      case NormPlace::behind:
        x = add(x, norm(attention(x), ".ln1", names.attention_norm));
        return add(x, norm(mlp(x), ".ln2", names.mlp_norm));
      case NormPlace::around:
        x = add(x, norm(attention(norm(x, ".ln1", names.attention_norm)), ".ln1b", names.attention_norm_behind));
        return add(x, norm(mlp(norm(x, ".ln2", names.mlp_norm)), ".ln2b", names.mlp_norm_behind));
      case NormPlace::after:
        x = norm(add(x, attention(x)), ".ln1", names.attention_norm);
        return norm(add(x, mlp(x)), ".ln2", names.mlp_norm);
      case NormPlace::parallel:
      case NormPlace::shared: {
        const ValueId read = norm(x, ".ln1", names.attention_norm);
        const bool one = config().norms == NormPlace::shared;
        const ValueId sum = add(x, attention(read));
        return add(sum, mlp(one ? read : norm(x, ".ln2", names.mlp_norm)));
      }
    }
    return x;
  }
};

/// Which layers have the window: all, or as `layer_types` says (transformers 5), else all but every so many-th, from
/// `max_window_layers` on.
bool has_window(const ConfigReader& in, const DecoderWords& words, std::int64_t layer) {
  if (words.windowed == Windowed::all) return true;
  if (!in.has("layer_types")) {
    const std::int64_t every = in.whole_or("sliding_window_pattern", words.whole_layer_every);
    const bool is_whole = every > 0 && (layer + 1) % every == 0;
    return !is_whole && layer >= in.whole_or("max_window_layers", words.first_window_layer);
  }
  return is_window_layer(in, layer);
}

std::vector<std::int64_t> read_windows(const ConfigReader& in, const DecoderWords& words, std::int64_t layers) {
  std::vector<std::int64_t> windows;
  if (words.windowed == Windowed::none) return windows;
  if (words.window_is_asked_for && !in.flag_or("use_sliding_window", false)) return windows;
  const bool is_said = in.json().contains("sliding_window");
  if (is_said ? !in.has("sliding_window") : words.window == 0) return windows;
  const std::int64_t window = in.count_or("sliding_window", words.window);
  bool is_used = false;
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    windows.push_back(has_window(in, words, layer) ? window : 0);
    is_used = is_used || windows.back() > 0;
  }
  return is_used ? windows : std::vector<std::int64_t>();
}

void write_windows(const ModelConfig& c, const DecoderWords& words, Json& json) {
  if (words.windowed == Windowed::none) return;
  json["use_sliding_window"] = !c.windows.empty();
  json["sliding_window"] = nullptr;
  if (c.windows.empty()) return;
  json["sliding_window"] = *std::max_element(c.windows.begin(), c.windows.end());
  if (words.windowed == Windowed::listed) json["layer_types"] = layer_types(c);
}

}  // namespace

bool is_window_layer(const ConfigReader& in, std::int64_t layer) {
  const Json& types = in.json().at("layer_types");
  const auto place = static_cast<std::size_t>(layer);
  if (!types.is_array() || place >= types.size())
    fail_user("{}: 'layer_types' is no list of one entry a layer", in.file());
  if (types[place] == window_layer_type) return true;
  if (types[place] != whole_layer_type)
    fail_user("{}: 'layer_types' names {}; {} and {} are known", in.file(), printable(types[place].dump(), 40),
              whole_layer_type, window_layer_type);
  return false;
}

Json layer_types(const ModelConfig& c) {
  Json types = Json::array();
  for (std::size_t layer = 0; layer < static_cast<std::size_t>(c.layers); ++layer)
    types.push_back(c.windows.empty() || c.windows[layer] == 0 ? whole_layer_type : window_layer_type);
  return types;
}

ValueId emit_blocks(Blocks& b, const DecoderNames& names) {
  const bool rms = b.config().norm == NormKind::rms;
  const auto whole_norm = [&](ValueId x, const char* place, const char* name) {
    b.at(place, Role::norm);
    return rms ? b.rms_norm(x, name, b.config().d_model) : b.layer_norm(x, name);
  };
  b.at("embeddings", Role::embedding);
  ValueId x = b.scaled(b.token_embedding(), b.config().embedding_scale);
  if (b.config().embedding_width > 0) {
    b.at("embeddings.project", Role::embedding);
    x = b.linear(x, names.project_in, b.config().d_model, Bias::absent);
  }
  if (names.positions != nullptr)
    x = b.add_counted_positions(x, names.positions, b.config().context + 2, Counted::mask);
  if (names.embedding_norm != nullptr) x = whole_norm(x, "embeddings.norm", names.embedding_norm);
  b.hidden(0, x);
  for (std::int64_t layer = 0; layer < b.config().layers; ++layer) {
    x = DecoderBlock{b, names, layer}.emit(x);
    b.hidden(layer + 1, x);
  }
  return names.last_norm == nullptr ? x : whole_norm(x, "ln_f", names.last_norm);
}

void emit_decoder(Blocks& b, const DecoderNames& names) {
  ValueId x = emit_blocks(b, names);
  if (b.config().embedding_width > 0) {
    b.at("head.project", Role::head);
    x = b.linear(x, names.project_out, b.config().embedding_width, Bias::absent);
  }
  b.language_head(x, names.head_bias);
}

ModelConfig parse_decoder(const ConfigReader& in, const DecoderWords& words) {
  ModelConfig c;
  c.context = in.count("max_position_embeddings");
  c.d_model = in.count("hidden_size");
  c.layers = in.count("num_hidden_layers");
  c.heads = in.count("num_attention_heads");
  c.kv_heads = in.count_or("num_key_value_heads", c.heads);
  c.head_dim = head_dim_or(in, in.count_or("head_dim", 0), c);
  c.d_ff = in.count("intermediate_size");
  c.activation = in.activation_or(words.activation_key, words.activation);
  c.norm_epsilon = in.real_or(words.epsilon_key, words.epsilon, norm_epsilon_range);
  c.tied_head = in.flag_or("tie_word_embeddings", false);
  read_rotary(in, words.rotary, c);
  c.windows = read_windows(in, words, c.layers);
  return c;
}

Json write_decoder(const ModelConfig& c, const char* architecture, const DecoderWords& words) {
  Json json = {{"architectures", Json::array({architecture})},
               {"max_position_embeddings", said_context(c)},
               {"hidden_size", c.d_model},
               {"num_hidden_layers", c.layers},
               {"num_attention_heads", c.heads},
               {"num_key_value_heads", c.kv_heads},
               {"head_dim", c.head_dim},
               {"intermediate_size", c.d_ff},
               {words.activation_key, config_word(c.activation)},
               {words.epsilon_key, c.norm_epsilon},
               {"tie_word_embeddings", c.tied_head}};
  write_rotary(c, words.rotary, json);
  write_windows(c, words, json);
  return json;
}

}  // namespace assay
