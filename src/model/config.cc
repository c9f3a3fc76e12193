#include "model/config.h"

#include <cmath>

#include "base/error.h"
#include "base/json.h"
#include "base/printable.h"

namespace assay {
namespace {

/// Typed access to the entries of one config file.
class Reader {
 public:
  Reader(const Json& json, const std::string& file) : json_(json), file_(file) {
    if (!json.is_object()) fail_user("{}: is not a JSON object", file);
  }

  bool has(const char* key) const { return json_.contains(key) && !json_.at(key).is_null(); }

  std::int64_t count(const char* key) const {
    if (!has(key)) fail_user("{}: '{}' is missing", file_, key);
    return count_or(key, 0);
  }

  std::int64_t count_or(const char* key, std::int64_t fallback) const {
    constexpr std::int64_t most = std::int64_t{1} << 31;
    if (!has(key)) return fallback;
    const Json& value = json_.at(key);
    if (!value.is_number_integer()) fail_user("{}: '{}' is {}, a whole number is needed", file_, key, brief(value));
    const bool huge = value.is_number_unsigned() && value.get<std::uint64_t>() > static_cast<std::uint64_t>(most);
    if (huge || value.get<std::int64_t>() < 1 || value.get<std::int64_t>() > most) {
      fail_user("{}: '{}' is {}, a number between 1 and 2^31 is needed", file_, key, brief(value));
    }
    return value.get<std::int64_t>();
  }

  double real_or(const char* key, double fallback, const RealRange& range) const {
    if (!has(key)) return fallback;
    const Json& value = json_.at(key);
    if (!value.is_number()) fail_user("{}: '{}' is {}, a number is needed", file_, key, brief(value));
    return checked_real(value.get<double>(), range, file_, key);
  }

  std::string text_or(const char* key, const std::string& fallback) const {
    if (!has(key)) return fallback;
    if (!json_.at(key).is_string()) fail_user("{}: '{}' is {}, a string is needed", file_, key, brief(json_.at(key)));
    return json_.at(key).get<std::string>();
  }

  bool flag_or(const char* key, bool fallback) const {
    if (!has(key)) return fallback;
    if (!json_.at(key).is_boolean())
      fail_user("{}: '{}' is {}, true or false is needed", file_, key, brief(json_.at(key)));
    return json_.at(key).get<bool>();
  }

  /// A switch that changes the computation in a way that is not built must stand where we can follow.
  void require_flag(const char* key, bool wanted) const {
    if (flag_or(key, wanted) != wanted) fail_user("{}: '{}' = {} is not supported", file_, key, !wanted);
  }

  const Json& json() const { return json_; }
  const std::string& file() const { return file_; }

 private:
  static std::string brief(const Json& value) {
    std::string text = value.is_structured() ? value.type_name() : value.dump(-1, ' ', true);
    return text.size() > 40 ? text.substr(0, 40) + "..." : text;
  }

  const Json& json_;
  const std::string& file_;
};

/// BERT and DistilBERT pad with token 0 where nothing is said, Llama with none; GPT-2's table takes no notice.
std::optional<std::int64_t> padding_id(const Reader& in, Family family) {
  const bool encoder = family == Family::bert || family == Family::distilbert;
  if (!encoder && family != Family::llama) return std::nullopt;
  if (!in.json().contains("pad_token_id")) return encoder ? std::optional<std::int64_t>(0) : std::nullopt;
  const Json& value = in.json().at("pad_token_id");
  if (value.is_null()) return std::nullopt;
  const std::int64_t vocabulary = in.count("vocab_size");
  // PyTorch counts a negative one from the end of the table; -1 is what old files say for "none".
  if (value.is_number_integer() && value == -1) return std::nullopt;
  if (!value.is_number_integer() || value < 0 || value >= vocabulary)
    fail_user("{}: 'pad_token_id' is no id below the vocabulary of {}", in.file(), vocabulary);
  return value.get<std::int64_t>();
}

Activation parse_activation(const Reader& in, const char* key, const std::string& fallback) {
  const std::string text = in.text_or(key, fallback);
  if (text == "gelu") return Activation::gelu_erf;
  if (text == "gelu_new" || text == "gelu_pytorch_tanh") return Activation::gelu_tanh;
  if (text == "relu") return Activation::relu;
  if (text == "silu" || text == "swish") return Activation::silu;
  fail_user("{}: '{}' is '{}'; gelu, gelu_new, gelu_pytorch_tanh, relu and silu are known", in.file(), key, text);
}

bool architecture_contains(const Reader& in, const char* word) {
  if (!in.has("architectures")) return false;
  const Json& list = in.json().at("architectures");
  return list.is_array() && !list.empty() && list[0].is_string() &&
         list[0].get<std::string>().find(word) != std::string::npos;
}

std::int64_t label_count(const Reader& in) {
  if (in.has("id2label") && in.json().at("id2label").is_object() && !in.json().at("id2label").empty()) {
    return static_cast<std::int64_t>(in.json().at("id2label").size());
  }
  return in.count_or("num_labels", 2);
}

/// One output has no softmax to speak of; several may be regressed, or be labels that do not exclude one another.
Outputs head_outputs(const Reader& in, std::int64_t labels) {
  const std::string problem = in.text_or("problem_type", "");
  if (problem == "regression" || problem == "multi_label_classification") return Outputs::scores;
  if (!problem.empty() && problem != "single_label_classification") {
    fail_user(
        "{}: 'problem_type' is '{}'; regression, single_label_classification and multi_label_classification are known",
        in.file(), printable(problem, 60));
  }
  return labels == 1 ? Outputs::scores : Outputs::classes;
}

Task encoder_task(const Reader& in) {
  return architecture_contains(in, "ForSequenceClassification") ? Task::classification : Task::embedding;
}

ModelConfig gpt2(const Reader& in) {
  in.require_flag("scale_attn_weights", true);
  in.require_flag("scale_attn_by_inverse_layer_idx", false);
  in.require_flag("reorder_and_upcast_attn", false);
  in.require_flag("add_cross_attention", false);
  ModelConfig c;
  c.family = Family::gpt2;
  c.vocab_size = in.count("vocab_size");
  c.context = in.has("n_positions") ? in.count("n_positions") : in.count("n_ctx");
  c.d_model = in.count("n_embd");
  c.layers = in.count("n_layer");
  c.heads = c.kv_heads = in.count("n_head");
  c.d_ff = in.count_or("n_inner", 4 * c.d_model);
  c.activation = parse_activation(in, "activation_function", "gelu_new");
  c.norm_epsilon = in.real_or("layer_norm_epsilon", 1e-5, norm_epsilon_range);
  c.tied_head = in.flag_or("tie_word_embeddings", true);
  return c;
}

ModelConfig bert(const Reader& in) {
  if (const std::string kind = in.text_or("position_embedding_type", "absolute"); kind != "absolute") {
    fail_user("{}: 'position_embedding_type' = '{}' is not supported", in.file(), kind);
  }
  in.require_flag("is_decoder", false);
  ModelConfig c;
  c.family = Family::bert;
  c.task = encoder_task(in);
  c.vocab_size = in.count("vocab_size");
  c.context = in.count("max_position_embeddings");
  c.d_model = in.count("hidden_size");
  c.layers = in.count("num_hidden_layers");
  c.heads = c.kv_heads = in.count("num_attention_heads");
  c.d_ff = in.count("intermediate_size");
  c.token_types = in.count_or("type_vocab_size", 2);
  c.labels = label_count(in);
  c.outputs = head_outputs(in, c.labels);
  c.activation = parse_activation(in, "hidden_act", "gelu");
  c.norm_epsilon = in.real_or("layer_norm_eps", 1e-12, norm_epsilon_range);
  return c;
}

ModelConfig distilbert(const Reader& in) {
  ModelConfig c;
  c.family = Family::distilbert;
  c.task = encoder_task(in);
  c.vocab_size = in.count("vocab_size");
  c.context = in.count("max_position_embeddings");
  c.d_model = in.count("dim");
  c.layers = in.count("n_layers");
  c.heads = c.kv_heads = in.count("n_heads");
  c.d_ff = in.count("hidden_dim");
  c.labels = label_count(in);
  c.outputs = head_outputs(in, c.labels);
  c.activation = parse_activation(in, "activation", "gelu");
  c.norm_epsilon = 1e-12;  // fixed in transformers' DistilBERT, not in its config
  return c;
}

double read_rope_theta(const Reader& in) {
  if (in.has("rope_scaling")) {
    const Reader scaling(in.json().at("rope_scaling"), in.file());
    const std::string type = scaling.text_or("rope_type", scaling.text_or("type", ""));
    if (type != "default") fail_user("{}: 'rope_scaling' of type '{}' is not supported", in.file(), type.substr(0, 60));
  }
  if (!in.has("rope_parameters")) return in.real_or("rope_theta", 10000, rope_theta_range);
  const Reader parameters(in.json().at("rope_parameters"), in.file());
  if (const std::string type = parameters.text_or("rope_type", "default"); type != "default") {
    fail_user("{}: 'rope_parameters.rope_type' = '{}' is not supported", in.file(), type);
  }
  return parameters.real_or("rope_theta", in.real_or("rope_theta", 10000, rope_theta_range), rope_theta_range);
}

ModelConfig llama(const Reader& in) {
  in.require_flag("attention_bias", false);
  in.require_flag("mlp_bias", false);
  ModelConfig c;
  c.family = Family::llama;
  c.vocab_size = in.count("vocab_size");
  c.context = in.count("max_position_embeddings");
  c.d_model = in.count("hidden_size");
  c.layers = in.count("num_hidden_layers");
  c.heads = in.count("num_attention_heads");
  c.kv_heads = in.count_or("num_key_value_heads", c.heads);
  c.head_dim = in.count_or("head_dim", 0);
  c.d_ff = in.count("intermediate_size");
  c.activation = parse_activation(in, "hidden_act", "silu");
  c.norm_epsilon = in.real_or("rms_norm_eps", 1e-6, norm_epsilon_range);
  c.rope_theta = read_rope_theta(in);
  c.tied_head = in.flag_or("tie_word_embeddings", false);
  return c;
}

ModelConfig cs336(const Reader& in) {
  ModelConfig c;
  c.family = Family::cs336;
  c.vocab_size = in.count("vocab_size");
  c.context = in.count("context_length");
  c.d_model = in.count("d_model");
  c.layers = in.count("num_layers");
  c.heads = c.kv_heads = in.count("num_heads");
  c.d_ff = in.count("d_ff");
  c.activation = Activation::silu;
  c.norm_epsilon = 1e-5;
  c.rope_theta = in.real_or("rope_theta", 10000, rope_theta_range);
  c.tied_head = false;
  return c;
}

/// Whatever its method: what the file then holds are codes, and where their scales stand is the method's own.
void refuse_quantization(const Reader& in) {
  for (const char* key : {"quantization_config", "compression_config"}) {
    if (!in.has(key)) continue;
    const Json& value = in.json().at(key);
    const bool named = value.is_object() && value.contains("quant_method") && value.at("quant_method").is_string();
    const std::string method = named ? value.at("quant_method").get<std::string>().substr(0, 60) : "not named";
    fail_user("{}: '{}' (quant_method {}) is not supported; the model's unquantised checkpoint is needed", in.file(),
              key, method);
  }
}

ModelConfig by_type(const Reader& in) {
  refuse_quantization(in);
  const std::string type = in.text_or("model_type", "");
  if (type.empty()) fail_user("{}: 'model_type' is missing", in.file());
  if (type == "gpt2") return gpt2(in);
  if (type == "bert") return bert(in);
  if (type == "distilbert") return distilbert(in);
  if (type == "llama") return llama(in);
  if (type == "cs336") return cs336(in);
  fail_user("{}: model_type '{}' is unknown; gpt2, bert, distilbert, llama and cs336 are known", in.file(),
            type.substr(0, 60));
}

}  // namespace

const char* name(Family family) {
  switch (family) {
    case Family::gpt2:
      return "gpt2";
    case Family::bert:
      return "bert";
    case Family::distilbert:
      return "distilbert";
    case Family::llama:
      return "llama";
    case Family::cs336:
      return "cs336";
  }
  return "?";
}

const char* name(Task task) {
  switch (task) {
    case Task::language_model:
      return "language model";
    case Task::classification:
      return "classification";
    case Task::embedding:
      return "embedding";
  }
  return "?";
}

ModelConfig parse_config(const Json& json, const std::string& file) {
  const Reader in(json, file);
  ModelConfig config = by_type(in);
  config.padding_id = padding_id(in, config.family);
  config.initializer_range = in.real_or("initializer_range", 0.02, initializer_range);
  if (config.head_dim == 0 && config.d_model % config.heads != 0) {
    fail_user("{}: {} heads do not divide the width {}", file, config.heads, config.d_model);
  }
  if (config.head_dim == 0) config.head_dim = config.d_model / config.heads;
  check_config(config, file);
  return config;
}

double checked_real(double value, const RealRange& range, const std::string& file, std::string_view key) {
  if (std::isfinite(value) && range.least <= value && value <= range.most) return value;
  fail_user("{}: '{}' is {}, {} is needed: a number from {:g} to {:g}", file, key, value, range.what, range.least,
            range.most);
}

void check_config(const ModelConfig& c, const std::string& file) {
  // Far above every published model; below what would overflow a product of two of them.
  constexpr std::int64_t widest = 1 << 20;
  constexpr std::int64_t deepest = 4096;
  if (c.d_model > widest || c.d_ff > widest * 8 || c.heads > widest || c.head_dim > widest || c.layers > deepest) {
    fail_user("{}: width {}, inner width {}, {} heads, {} layers: too large to be a model", file, c.d_model, c.d_ff,
              c.heads, c.layers);
  }
  if (c.heads % c.kv_heads != 0) fail_user("{}: {} key/value heads do not divide {} heads", file, c.kv_heads, c.heads);
  const bool rotary = c.family == Family::llama || c.family == Family::cs336;
  if (rotary && c.head_dim % 2 != 0)
    fail_user("{}: rotary embeddings need an even head size, it is {}", file, c.head_dim);
}

}  // namespace assay
