#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "tensor/recipe.h"

namespace assay {

/// Reads a recipe (TOML 1.0): a table [precision] whose keys are roles (`mlp`), paths of layers or names of weights
/// with `*` for any characters, in the order in which they stand, and whose values are rows of the precision table;
/// `default` (fp32 where it is absent) and `kv`, whose value is a dtype. A table [training] may have `no-decay` and
/// `lr-by-role`, as the options of these names. `source` begins errors and places.
/// Throws a user error of one line, "mix.toml:4: what is wrong", for bad syntax, another key, a key that stands twice,
/// a value that is no row. Whether a model has such layers is asked where it is known.
Recipe parse_recipe(std::string_view text, const std::string& source);
/// The same of a file, named by its stem.
Recipe load_recipe(const std::filesystem::path& file);

}  // namespace assay
