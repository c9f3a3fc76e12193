#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/jinja/value.h"

namespace assay::jinja {

struct Token {
  enum class Kind { data, block_begin, block_end, output_begin, output_end, name, text, integer, real, sign, end };
  Kind kind = Kind::end;
  std::string text;  ///< As it stands there; of a string its value.
  int line = 1;
};

/// The template's tokens, its white space removed as trim_blocks, lstrip_blocks and the signs in tags want it. The last
/// one is `end`. Throws a user error for what is not UTF-8 or no token of the language that is known here.
std::vector<Token> read_tokens(std::string_view source, const std::string& name);

}  // namespace assay::jinja
