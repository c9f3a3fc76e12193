#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/parameter_groups.h"
#include "tensor/precision.h"

namespace assay {

/// Layers that have a row of the precision table.
struct RecipeLayers {
  std::string pattern;     ///< As LayerOverride has it; also of the names that the checkpoint gives to weights.
  const Precision* row;    ///< In the table.
  std::string place = {};  ///< "mix.toml:4", where somebody wrote it.
};

/// Begins errors: "mix.toml:4: 'mlp'".
std::string words(const RecipeLayers& layers);

/// A mix of precisions: which row of the table each layer runs in. Written by hand, or found by a search; as a file it
/// is formats/recipe_file.h's.
struct Recipe {
  std::string name;              ///< "mix": the file's, without its ending.
  const Precision* rest;         ///< Of layers that nothing below names.
  std::optional<DType> kv = {};  ///< In which keys and values are kept for later tokens; absent: as multiplied.
  std::vector<RecipeLayers> layers = {};  ///< The last that matches decides.
  ParameterGroups training = {};          ///< What its trainings treat otherwise.
};

/// Begins the names of recipes where rows are named, too.
inline constexpr std::string_view recipe_prefix = "recipe:";
/// What tables call it: "recipe:mix".
std::string precision_name(const Recipe& recipe);

/// The recipe as a file has it, a layer a line: what is said the same way is the same text, whatever the name.
///
///   [precision]
///   default = "bf16"
///   kv = "s8"
///   mlp = "int8"
///   "layers.3.mlp.down_proj" = "int8-group"
///
///   [training]
///   no-decay = "norms,biases"
///   lr-by-role = "embedding=0.0001"
std::string recipe_text(const Recipe& recipe);

/// As a run uses it: overrides by layer, rows settled for this machine's native 16-bit type, if any.
PrecisionChoice choose_precision(const Recipe& recipe, std::optional<DType> native16);

}  // namespace assay
