#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/unicode.h"

namespace assay {

/// The characters that one place of an expression may be.
struct CharacterSet {
  struct Range {
    char32_t first = 0;
    char32_t last = 0;
  };
  std::vector<Range> ranges = {};
  std::uint32_t categories = 0;            ///< Bit i: unicode::Category i.
  std::uint16_t properties = 0;            ///< unicode::Property flags: any of them.
  std::uint16_t classes = 0;               ///< unicode::Class flags: any of them.
  std::vector<CharacterSet> members = {};  ///< Sets inside the brackets.
  bool negated = false;

  bool contains(char32_t c) const;
};

/// A regular expression as the `tokenizers` library reads it (Oniguruma, Ruby's syntax), over the Unicode tables that
/// were read off that library. Matched by backtracking: alternatives in order, the first that leads to a match wins.
///
/// Known: alternatives, groups ((...), (?:...), (?i:...) for ASCII letters), look-ahead ((?=, (?!), sets with
/// ranges, classes and sets inside, \p{..} of general categories and Han, \s \S \d \D \w \W, . $ \z, ? * + {n,m} with
/// lazy ? and possessive +. Everything else is refused: look-behind, back references, anchors of lines, set
/// intersection.
class Expression {
 public:
  /// Throws a user error that begins with `name` and shows the expression, also where it matches the empty text.
  Expression(std::string_view source, const std::string& name);
  /// One character with any of these properties.
  explicit Expression(unicode::Property property);
  /// This text, not empty, as it stands.
  static Expression of_text(std::string_view text);

  struct Match {
    std::size_t begin = 0;
    std::size_t end = 0;
  };
  /// The leftmost match at or after text[at]; `begin` is npos where there is none. The text must be valid UTF-8.
  /// Throws a user error where groups repeat more than 500 times in a match, or where it takes too many steps.
  Match find(std::string_view text, std::size_t at) const;

  struct Node;
  struct Sequence;

 private:
  Expression() = default;
  std::shared_ptr<const std::vector<Sequence>> alternatives_;
  std::string literal_ = {};  ///< All that it matches, where that is one text.
};

}  // namespace assay
