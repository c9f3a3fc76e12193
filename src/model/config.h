#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_fwd.h"
#include "program/adapters.h"
#include "program/program.h"

namespace assay {

struct Family;

enum class Task : std::uint8_t {
  language_model,
  classification,
  embedding,
  token_classification,
  masked_language_model
};
const char* name(Task task);
/// Whether every token has logits of its own, and may have a label.
bool labels_tokens(Task task);
/// Whether the classes are the vocabulary.
bool predicts_tokens(Task task);

/// What the outputs of a classification head are.
enum class Outputs : std::uint8_t {
  classes,  ///< Logits of classes: softmax makes probabilities of them.
  scores    ///< Numbers, each by itself: one output (rerankers, regression), or several where problem_type says so.
};

enum class Bias : std::uint8_t { absent, present };
/// What of a sequence stands for all of it: the mean over its real positions, or its first one.
enum class Pooling : std::uint8_t { mean, first };
enum class NormKind : std::uint8_t { rms, layer };
/// Where the norms of a block stand.
enum class NormPlace : std::uint8_t {
  before,    ///< Attention and MLP, one after the other, each of which adds to what it was given.
  behind,    ///< Each of their results, before it is added.
  around,    ///< Both.
  after,     ///< What they add to has been normalised with the sum before: x = norm(x + f(x)).
  parallel,  ///< Attention and MLP, which read the same and are added together.
  shared     ///< The same, but both read one norm.
};
/// Whether queries and keys are normalised: by head, or over all heads together.
enum class HeadNorm : std::uint8_t { absent, head, whole };

/// Positions of one kind of layers.
struct Rotary {
  double theta = 10000;
  std::int64_t columns = 0;  ///< Columns of a head that turn; 0: all.
  RopeScaling scaling = {};

  bool operator==(const Rotary&) const = default;
};

/// Attention that scores the distance from query to key beside their contents (DeBERTa; He et al. 2021).
struct Disentangled {
  RelativePositions positions = {};  ///< Of the table that all layers share; span 0: there is none.
  bool by_query = false;             ///< A query's content meets the distance ("c2p"),
  bool by_key = false;               ///< and a key's ("p2c").
  bool shares_projections = false;   ///< The table is projected as contents are (share_att_key).
  bool is_normalised = false;        ///< The table is, before that.
};

struct TextPart;

/// What an architecture needs to know, whatever file it came from. Counts are positive; heads divide d_model unless
/// head_dim was given; kv_heads divide heads.
struct ModelConfig {
  const Family* family = nullptr;   ///< A row of families(); never null once a model is opened.
  const TextPart* whole = nullptr;  ///< Of which model this is the part that reads text; null: it is all of it.
  Task task = Task::language_model;
  std::int64_t vocab_size = 0;
  std::int64_t context = 0;  ///< Longest sequence.
  std::int64_t d_model = 0;
  std::int64_t layers = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t d_ff = 0;
  std::int64_t labels = 2;                    ///< Classification of sequences or tokens only.
  Outputs outputs = Outputs::classes;         ///< Classification only.
  std::vector<std::string> label_names = {};  ///< Of classes, as the configuration has them; empty: numbers.
  std::int64_t embedding_width = 0;           ///< Of the token table, where it is projected to d_model; 0: d_model.
  Disentangled disentangled = {};
  bool learned_positions = true;    ///< Of DeBERTa, which may do without.
  bool legacy_masked_head = true;   ///< Of DeBERTa: that of transformers, not of its authors.
  std::int64_t position_base = -1;  ///< Of positions that count real tokens: the number before the first; -1: columns.
  std::int64_t token_types = 0;     ///< BERT's token type table; 0: none.
  Activation activation = Activation::gelu_erf;
  double norm_epsilon = 1e-5;
  Rotary rotary = {};
  std::optional<Rotary> window_rotary = std::nullopt;  ///< Of layers with a window, where theirs is another.
  std::vector<std::uint8_t> rotary_layers = {};        ///< 0 where a layer has no positions; empty: all have.
  /// Of each layer, as Attributes::window has it; empty: none has one.
  std::vector<std::int64_t> windows = {};
  Pooling pooling = Pooling::mean;  ///< Of sentence embeddings.
  // Of ModernBERT's heads; others have theirs in one way.
  Pooling classifier_pooling = Pooling::first;
  Activation head_activation = Activation::gelu_erf;
  Bias head_bias = Bias::absent;
  Bias vocabulary_bias = Bias::present;
  // Of decoders and ModernBERT; other encoders and GPT-2 have their own way.
  NormKind norm = NormKind::rms;
  NormPlace norms = NormPlace::before;
  HeadNorm head_norm = HeadNorm::absent;
  bool sinks = false;  ///< Each head has a learned score of no key.
  Bias qkv_bias = Bias::absent;
  Bias out_bias = Bias::absent;
  Bias mlp_bias = Bias::absent;
  Bias norm_bias = Bias::present;  ///< Of layer norms.
  std::int64_t experts = 0;        ///< 0: every MLP is one.
  std::int64_t active_experts = 0;
  std::int64_t expert_d_ff = 0;
  bool normalised_experts = false;  ///< As Attributes::normalised.
  bool router_loss = false;         ///< Training is to add the router's loss of balance.
  Bias router_bias = Bias::absent;
  Bias expert_bias = Bias::absent;
  double expert_cap = 0;    ///< Of experts whose gate is op::clamped_gate; 0: it is that of other MLPs.
  double expert_scale = 1;  ///< The same gate's.
  std::vector<std::uint8_t> expert_layers = {};  ///< 0 where a layer has one MLP after all; empty: all have experts.
  double norm_shift = 0;                         ///< What RMS norms add to their weight before they multiply by it.
  double embedding_scale = 1;                    ///< What token embeddings are multiplied by,
  double residual_scale = 1;                     ///< and what attention and MLP add to their input,
  double logit_scale = 1;                        ///< and logits;
  double score_scale = 0;                        ///< and attention's scores; 0: by 1 / sqrt(head_dim).
  double score_cap = 0;                          ///< Soft caps: of scores,
  double logit_cap = 0;                          ///< and of logits; 0: none.
  bool tied_head = true;
  /// The token whose embedding receives no gradient from where it stands (PyTorch's padding_idx): absent, none.
  std::optional<std::int64_t> padding_id = std::nullopt;
  double initializer_range = 0.02;  ///< Standard deviation of random weights.
  // Nothing of config.json (model/lora.h).
  std::vector<Adapter> adapters = {};           ///< Beside its linear layers,
  std::vector<std::string> trained_heads = {};  ///< and parameters of its head that are trained with them.
};

/// Reads a Hugging Face config.json (or one of "model_type": "cs336"). `file` begins every error message. Throws a user
/// error for a missing or absurd entry, an unknown model_type, and every feature that would change the result and is
/// not built (scaled rotary embeddings, attention biases, ...): nothing is ignored that matters.
ModelConfig parse_config(const Json& json, const std::string& file);

/// How many classes a label may name: those of a classifier, else the vocabulary.
std::int64_t class_count(const ModelConfig& config);

/// Parameters of experts that a token does not meet.
std::int64_t inactive_parameters(const ModelConfig& config);

class ConfigReader;
/// `head_dim` where it is positive, else the width's share of a head. Throws a user error where heads do not divide the
/// width.
std::int64_t head_dim_or(const ConfigReader& in, std::int64_t head_dim, const ModelConfig& config);

/// What a number of a configuration may be. The arithmetic is f32's: below the least and above the most it would divide
/// by zero, or give infinity, or all the same for every position.
struct RealRange {
  const char* what;
  double least;
  double most;
};
/// Published ones lie between 1e-12 and 1e-3. Below the smallest normal f32 a row of zeros is divided by zero.
constexpr RealRange norm_epsilon_range = {"what keeps a norm from dividing by zero", 0x1p-126, 1};
/// Published bases lie between 1e4 and 1e8. Below 1 later pairs would turn faster than by one radian a position.
constexpr RealRange rope_theta_range = {"the base of rotary angles", 1, 1e15};
constexpr RealRange scale_range = {"a factor", 0x1p-40, 0x1p40};
constexpr RealRange cap_range = {"a soft cap", 1e-3, 1e6};
/// A deviation of 0 makes every new weight the same.
constexpr RealRange initializer_range = {"a standard deviation of new weights", 0x1p-126, 1e4};
/// The value, or a user error naming file and key where it is not finite or outside of the range.
double checked_real(double value, const RealRange& range, const std::string& file, std::string_view key);

/// Throws a user error naming `file` where counts do not fit one another.
void check_config(const ModelConfig& config, const std::string& file);

}  // namespace assay
