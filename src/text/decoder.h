#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "text/expression.h"
#include "text/normalizer.h"

namespace assay {

/// Ways to turn tokens into text, as the `tokenizers` library's decoders; each takes the list of tokens to another
/// list.
struct ByteLevelDecoder {};
struct ByteFallbackDecoder {
};  ///< Runs of <0x00> ... <0xFF> become the characters that they are; U+FFFD where they are none.
struct FuseDecoder {};  ///< All tokens become one.
struct WordPieceDecoder {
  std::string prefix = {};
  bool cleanup = true;  ///< Drop the spaces before punctuation and English contractions.
};
struct MetaspaceDecoder {
  std::string space = {};     ///< What stands for a space.
  bool drop_in_first = true;  ///< It stood before the text.
};
struct StripDecoder {
  std::string character = {};
  std::size_t start = 0;  ///< At most so many are dropped there.
  std::size_t stop = 0;
};
struct SuffixDecoder {
  std::string suffix = {};  ///< Of a word's last token: becomes a space.
};

using DecoderStep = std::variant<ByteLevelDecoder, ByteFallbackDecoder, FuseDecoder, WordPieceDecoder, MetaspaceDecoder,
                                 StripDecoder, SuffixDecoder, Replacement>;

/// The text of the tokens after all steps.
std::string decode_tokens(const std::vector<DecoderStep>& steps, std::vector<std::string> tokens);

}  // namespace assay
