#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/json_fwd.h"
#include "model/config.h"
#include "program/program.h"

namespace assay {

class Blocks;
class ConfigReader;
struct Counterpart;
struct Distribution;

enum class FamilyKind : std::uint8_t { decoder, encoder };
enum class Dropout : std::uint8_t { absent, present };

/// What `pad_token_id` in config.json means where the embedding is trained.
enum class Padding : std::uint8_t {
  no_entry,   ///< The family's files have none.
  no_effect,  ///< The table takes no notice of it.
  none,       ///< The id that it names gets no gradient; where nothing is said, every id gets one.
  first_id    ///< The id that it names gets no gradient; where nothing is said, that is 0.
};

/// Of a language model's head in most families.
inline constexpr const char* language_head_name = "lm_head.weight";

/// How published checkpoints name the parameters. A canonical name is one without the prefix.
struct TensorNames {
  using Words = std::span<const char* const>;

  const char* prefix;           ///< Stands before the names of the bare model: "transformer.", "" for none.
  const char* embedding;        ///< The token embedding's table.
  Words task_head = {};         ///< Begin the names of a classification head.
  Words unused = {};            ///< Begin the names of heads of other tasks, which published files carry.
  Words beside = {};            ///< Begin the names of heads that take no prefix, which other families' do.
  Words transposed = {};        ///< End the names of weights that are stored as [in, out],
  Words by_key_head = {};       ///< and of what stands as StoredOrder::by_key_head.
  bool joined_experts = false;  ///< Experts stand as model/joined_experts.h draws.
  struct OtherName {
    const char* stored;
    const char* canonical;
  };
  std::span<const OtherName> other_names = {};  ///< Where a file has both, the stored one is what counts.
  /// A language model's head. It stands beside the bare model and takes no prefix.
  const char* head = language_head_name;
};

/// How the family's GGUF files differ from its folders.
struct GgufNames {
  struct Renamed {
    const char* stored;     ///< "attn_q.weight"
    const char* canonical;  ///< "self_attn.q_proj.weight"; '*' stands for the number of an expert.
  };

  const char* architecture;             ///< `general.architecture`; begins the keys of the configuration too.
  std::span<const Renamed> whole = {};  ///< Whole names, and
  std::span<const Renamed> layer = {};  ///< what follows "blk.N." and becomes "layers.N.": those that others call
                                        ///< otherwise (gguf_names.h has what most families share).
  TensorNames::Words paired_rows = {};  ///< End canonical names of what has its rows as rotary pairs (2i, 2i + 1).
  bool has_experts = false;             ///< Of two families of one architecture.
  double norm_shift = 0;                ///< What norms' weights stand with added to them.
  void (*imply)(Json& config, const std::string& file) =
      nullptr;  ///< Adds what the format leaves to the architecture, in config.json's words.
};

/// A family of models, everything that the program asks about it. Nothing outside of the family's own file may depend
/// on which one it is: what differs is a member here, or of ModelConfig where it differs between models of one family.
struct Family {
  const char* name;  ///< `model_type` in config.json.
  FamilyKind kind;
  std::optional<RotaryPairs> rotary;  ///< Absent: positions are learned.
  Padding padding;
  Dropout dropout;
  ModelConfig (*parse)(const ConfigReader& in);  ///< Members that parse_config fills for every family stay as they are.
  Json (*write)(const ModelConfig& config);      ///< The family's own entries of config.json; `parse` reads them.
  void (*emit)(Blocks& b);                       ///< The model's operations.
  Distribution (*initial)(const Value& weight, const ModelConfig& config);  ///< Of a matrix that is drawn anew.
  const TensorNames* tensors;
  const GgufNames* gguf;                     ///< Null: not read from GGUF.
  const Counterpart* counterpart = nullptr;  ///< Of what transformers does not know (model/counterpart.h).
};

std::span<const Family> families();
/// Null where there is none of that `model_type`.
const Family* find_family(std::string_view name);

/// "h.0.attn.c_attn.weight" -> "transformer.h.0.attn.c_attn.weight". The heads, which stand beside the bare model, take
/// no prefix.
std::string published_name(const std::string& canonical, const Family& family);

bool begins_with_any(std::string_view text, TensorNames::Words beginnings);
bool ends_with_any(std::string_view text, TensorNames::Words endings);

}  // namespace assay
