#include "text/expression.h"

#include <algorithm>
#include <array>
#include <limits>

#include "base/error.h"
#include "base/printable.h"

namespace assay {

using AsciiSet = std::array<bool, 128>;

/// What is matched one after the other.
struct Expression::Sequence {
  std::vector<Node> nodes;
  AsciiSet starts = {};  ///< Characters with which a match may begin, of those that come most often.
};

struct Expression::Node {
  enum class Kind { set, group, look_ahead, look_ahead_not, text_end, line_end };
  enum class Greed { greedy, lazy, possessive };
  Kind kind = Kind::set;
  CharacterSet set = {};
  AsciiSet ascii = {};  ///< set.contains, for the characters that come most often.
  std::vector<Sequence> alternatives = {};
  std::size_t least = 1;
  std::size_t most = 1;
  Greed greed = Greed::greedy;
};

namespace {

using Node = Expression::Node;
using Sequence = Expression::Sequence;

constexpr std::size_t unbounded = std::numeric_limits<std::size_t>::max();
constexpr int deepest_group = 50;

struct NamedSet {
  std::string_view name;
  std::uint32_t categories;
  std::uint16_t classes;
};

constexpr std::uint32_t bits(int first, int count) {
  return ((std::uint32_t{1} << count) - 1) << first;
}

/// Names in \p{..}: the general categories in the order of unicode::Category, and their groups.
constexpr NamedSet named_sets[] = {
    {"L", bits(0, 5), 0},   {"M", bits(5, 3), 0},   {"N", bits(8, 3), 0},     {"P", bits(11, 7), 0},
    {"S", bits(18, 4), 0},  {"Z", bits(22, 3), 0},  {"C", bits(25, 5), 0},    {"Lu", bits(0, 1), 0},
    {"Ll", bits(1, 1), 0},  {"Lt", bits(2, 1), 0},  {"Lm", bits(3, 1), 0},    {"Lo", bits(4, 1), 0},
    {"Mn", bits(5, 1), 0},  {"Mc", bits(6, 1), 0},  {"Me", bits(7, 1), 0},    {"Nd", bits(8, 1), 0},
    {"Nl", bits(9, 1), 0},  {"No", bits(10, 1), 0}, {"Pc", bits(11, 1), 0},   {"Pd", bits(12, 1), 0},
    {"Ps", bits(13, 1), 0}, {"Pe", bits(14, 1), 0}, {"Pi", bits(15, 1), 0},   {"Pf", bits(16, 1), 0},
    {"Po", bits(17, 1), 0}, {"Sm", bits(18, 1), 0}, {"Sc", bits(19, 1), 0},   {"Sk", bits(20, 1), 0},
    {"So", bits(21, 1), 0}, {"Zs", bits(22, 1), 0}, {"Zl", bits(23, 1), 0},   {"Zp", bits(24, 1), 0},
    {"Cc", bits(25, 1), 0}, {"Cf", bits(26, 1), 0}, {"Han", 0, unicode::han},
};

bool may_be_empty(const std::vector<Sequence>& alternatives) {
  const auto empty_node = [](const Node& node) {
    if (node.kind == Node::Kind::set) return node.least == 0;
    return node.kind != Node::Kind::group || node.least == 0 || may_be_empty(node.alternatives);
  };
  return std::any_of(alternatives.begin(), alternatives.end(), [&](const Sequence& sequence) {
    return std::all_of(sequence.nodes.begin(), sequence.nodes.end(), empty_node);
  });
}

void join(AsciiSet& all, const AsciiSet& more) {
  for (std::size_t c = 0; c < all.size(); ++c) all[c] = all[c] || more[c];
}

/// What a match of the nodes may begin with; look-aheads and ends take no character.
AsciiSet starts_of(const std::vector<Node>& nodes) {
  AsciiSet starts = {};
  for (const Node& node : nodes) {
    if (node.kind == Node::Kind::set) join(starts, node.ascii);
    if (node.kind == Node::Kind::group) {
      for (const Sequence& sequence : node.alternatives) join(starts, sequence.starts);
    }
    const bool is_set = node.kind == Node::Kind::set;
    const bool takes_some =
        node.least > 0 && (is_set || (node.kind == Node::Kind::group && !may_be_empty(node.alternatives)));
    if (takes_some) return starts;
  }
  starts.fill(true);
  return starts;
}

Sequence sequence_of(std::vector<Node> nodes) {
  const AsciiSet starts = starts_of(nodes);
  return {std::move(nodes), starts};
}

/// Reads an expression from left to right.
class ExpressionParser {
 public:
  ExpressionParser(std::string_view source, const std::string& name) : source_(source), name_(name) {}

  std::vector<Sequence> parse() {
    unicode::check_utf8(source_, name_);
    std::vector<Sequence> made = alternatives(0);
    if (at_ < source_.size()) refuse("a ')' without '('");
    return made;
  }

  [[noreturn]] void refuse(std::string_view what) const {
    fail_user("{}: the regular expression '{}' has {}, which is not supported", name_, printable(source_, 400), what);
  }

 private:
  bool done() const { return at_ >= source_.size(); }
  bool next_is(std::string_view text) const { return source_.substr(at_).starts_with(text); }
  bool take(std::string_view text) {
    if (!next_is(text)) return false;
    at_ += text.size();
    return true;
  }
  char32_t take_character() {
    if (done()) refuse("an end in the middle");
    return unicode::next_code_point(source_, at_);
  }

  std::vector<Sequence> alternatives(int depth) {
    if (depth > deepest_group) refuse("groups too deep");
    std::vector<Sequence> made(1);
    while (!done() && !next_is(")")) {
      if (take("|")) {
        made.emplace_back();
      } else {
        made.back().nodes.push_back(repeated(item(depth)));
      }
    }
    for (Sequence& sequence : made) sequence.starts = starts_of(sequence.nodes);
    return made;
  }

  Node item(int depth) {
    if (next_is("(")) return group(depth);
    if (take("[")) return set_node(bracketed(depth));
    if (take("$")) return Node{.kind = Node::Kind::line_end};
    if (take("\\z")) return Node{.kind = Node::Kind::text_end};
    if (take(".")) return set_node({.ranges = {{'\n', '\n'}}, .negated = true});
    for (const char* odd : {"?", "*", "+", "^", "{"}) {
      if (next_is(odd)) refuse(fmt::format("'{}' at byte {}", odd, at_));
    }
    if (take("\\")) return set_node(escape());
    return set_node(literal(take_character()));
  }

  Node group(int depth) {
    Node made{.kind = Node::Kind::group};
    const bool outer_fold = fold_;
    if (take("(?i:")) {
      fold_ = true;
    } else if (take("(?=")) {
      made.kind = Node::Kind::look_ahead;
    } else if (take("(?!")) {
      made.kind = Node::Kind::look_ahead_not;
    } else if (!take("(?:")) {
      if (next_is("(?") || next_is("(*")) refuse(fmt::format("'{}'", source_.substr(at_, 3)));
      take("(");
    }
    made.alternatives = alternatives(depth + 1);
    if (!take(")")) refuse("a '(' without ')'");
    if (fold_) check_fold(made);
    fold_ = outer_fold;
    return made;
  }

  /// Where case is folded the engine also takes one character for two ("\u00df" for "ss", "\ufb01" for "fi").
  void check_fold(const Node& folded) const {
    for (const Sequence& sequence : folded.alternatives) {
      const std::vector<Node>& nodes = sequence.nodes;
      for (std::size_t i = 0; i + 1 < nodes.size(); ++i) {
        for (const char* pair : {"ss", "st", "ff", "fi", "fl"}) {
          if (nodes[i].set.contains(static_cast<char32_t>(pair[0])) &&
              nodes[i + 1].set.contains(static_cast<char32_t>(pair[1]))) {
            refuse(fmt::format("'{}' without case", pair));
          }
        }
      }
    }
  }

  CharacterSet literal(char32_t c) const {
    CharacterSet set{.ranges = {{c, c}}};
    if (!fold_) return set;
    if (c >= 0x80) refuse("a letter beyond ASCII without case");
    const char32_t lower = c >= 'A' && c <= 'Z' ? c + 32 : c;
    if (lower < 'a' || lower > 'z') return set;
    set.ranges = {{lower, lower}, {lower - 32, lower - 32}};
    if (lower == 's') set.ranges.push_back({0x17F, 0x17F});
    if (lower == 'k') set.ranges.push_back({0x212A, 0x212A});
    return set;
  }

  /// What follows a backslash.
  CharacterSet escape() {
    const char32_t c = take_character();
    const char32_t lower = c | 0x20;
    if (c == 'p' || c == 'P') return named_set(c == 'P');
    const bool negated = c != lower;
    if (lower == 's') return {.properties = unicode::space, .negated = negated};
    if (lower == 'd') return {.categories = bits(8, 1), .negated = negated};
    if (lower == 'w') return {.classes = unicode::word_class, .negated = negated};
    return literal(escaped_character(c));
  }

  char32_t escaped_character(char32_t c) {
    constexpr std::string_view letters = "nrtfv";
    constexpr std::string_view values = "\n\r\t\f\v";
    if (c == 'x' || c == 'u') return hexadecimal(c);
    const std::size_t index = c < 0x80 ? letters.find(static_cast<char>(c)) : std::string_view::npos;
    if (index != std::string_view::npos) return static_cast<char32_t>(values[index]);
    const bool name = (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c >= 0x80;
    if (name) refuse(fmt::format("'\\{}'", c < 0x80 ? static_cast<char>(c) : '?'));
    return c;
  }

  /// \uHHHH, \xHH or \x{H..}
  char32_t hexadecimal(char32_t letter) {
    const bool braces = letter == 'x' && take("{");
    const std::size_t digits = letter == 'u' ? 4 : braces ? 6 : 2;
    char32_t value = 0;
    std::size_t count = 0;
    for (; count < digits && !done(); ++count, ++at_) {
      const char c = source_[at_];
      const int digit = c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
      if (digit < 0) break;
      value = value * 16 + static_cast<char32_t>(digit);
    }
    const bool whole = braces ? count > 0 && take("}") : count == digits;
    // Oniguruma reads \x80 and above as a byte, not as a character.
    if (!whole || value > 0x10FFFF || (!braces && letter == 'x' && value >= 0x80))
      refuse("an odd number of a character");
    return value;
  }

  /// The rest of \p{Name}, \p{^Name}, \P{Name}.
  CharacterSet named_set(bool negated) {
    if (!take("{")) refuse("'\\p' without '{'");
    if (take("^")) negated = !negated;
    const std::size_t end = std::min(source_.find('}', at_), source_.size());
    const std::string_view wanted = source_.substr(at_, end - at_);
    const auto* const found = std::find_if(std::begin(named_sets), std::end(named_sets),
                                           [&](const NamedSet& set) { return set.name == wanted; });
    if (found == std::end(named_sets)) refuse(fmt::format("'\\p{{{}}}'", wanted));
    at_ = end + 1;
    return {.categories = found->categories, .classes = found->classes, .negated = negated};
  }

  /// The rest of a set, after its '['.
  CharacterSet bracketed(int depth) {
    if (depth > deepest_group) refuse("sets too deep");
    CharacterSet set;
    set.negated = take("^");
    for (bool first = true; !take("]"); first = false) {
      if (first && next_is("]")) refuse("an empty set");
      if (next_is("&&") || next_is("[:")) refuse(fmt::format("'{}' in a set", source_.substr(at_, 2)));
      if (take("[")) {
        set.members.push_back(bracketed(depth + 1));
      } else {
        append_member(set);
      }
    }
    return set;
  }

  /// A character, a range or a class inside brackets.
  void append_member(CharacterSet& set) {
    // Oniguruma takes other characters for \w inside brackets than outside.
    if (next_is("\\w") || next_is("\\W")) refuse("'\\w' in a set");
    CharacterSet first = take("\\") ? escape() : literal(take_character());
    const bool single = first.ranges.size() == 1;
    const bool range = next_is("-") && !next_is("-]");
    if (!range) return set.members.push_back(std::move(first));
    take("-");
    if (!single || fold_) refuse("a range in a set that is not of two characters");
    const CharacterSet last = take("\\") ? escape() : literal(take_character());
    if (last.ranges.size() != 1 || last.ranges[0].first < first.ranges[0].first) refuse("an odd range in a set");
    set.ranges.push_back({first.ranges[0].first, last.ranges[0].first});
  }

  static Node set_node(CharacterSet set) {
    Node made;
    for (char32_t c = 0; c < made.ascii.size(); ++c) made.ascii[c] = set.contains(c);
    made.set = std::move(set);
    return made;
  }

  Node repeated(Node node) {
    const std::size_t before = at_;
    if (take("?")) {
      node.least = 0;
    } else if (take("*")) {
      node.least = 0, node.most = unbounded;
    } else if (take("+")) {
      node.most = unbounded;
    } else if (take("{")) {
      interval(node);
    } else {
      return node;
    }
    if (node.kind != Node::Kind::set && node.kind != Node::Kind::group) refuse("a repeated look-ahead or anchor");
    // In Ruby's syntax a sign after {n,m} repeats the whole instead.
    if (source_[before] == '{' && (next_is("?") || next_is("+"))) refuse("a sign after '}'");
    if (take("?"))
      node.greed = Node::Greed::lazy;
    else if (take("+"))
      node.greed = Node::Greed::possessive;
    if (next_is("*") || next_is("+") || next_is("?") || next_is("{")) refuse("a repetition repeated");
    return node;
  }

  std::size_t number(std::size_t fallback) {
    std::size_t value = 0;
    const std::size_t begin = at_;
    while (!done() && source_[at_] >= '0' && source_[at_] <= '9' && value < 10000) {
      value = value * 10 + static_cast<std::size_t>(source_[at_++] - '0');
    }
    return at_ == begin ? fallback : value;
  }

  void interval(Node& node) {
    node.least = number(0);
    node.most = node.least;
    if (take(",")) node.most = number(unbounded);
    if (!take("}") || node.most < node.least || node.most == 0) refuse("an odd '{'");
  }

  std::string_view source_;
  const std::string& name_;
  std::size_t at_ = 0;
  bool fold_ = false;
};

/// A repeated group that can match nothing would repeat for ever.
bool has_empty_repetition(const std::vector<Sequence>& alternatives) {
  const auto node_has = [](const Node& node) {
    if (node.kind == Node::Kind::set) return false;
    return (node.most > 1 && may_be_empty(node.alternatives)) || has_empty_repetition(node.alternatives);
  };
  return std::any_of(alternatives.begin(), alternatives.end(), [&](const Sequence& sequence) {
    return std::any_of(sequence.nodes.begin(), sequence.nodes.end(), node_has);
  });
}

/// One attempt to match at one place.
class Matcher {
 public:
  Matcher(std::string_view text, std::size_t& steps) : text_(text), steps_(steps) {}

  bool match(const std::vector<Sequence>& alternatives, std::size_t at) { return match_any(alternatives, at, nullptr); }
  std::size_t end() const { return end_; }

 private:
  /// What is to be matched after the sequence at hand.
  struct Rest {
    const Sequence* sequence = nullptr;
    std::size_t index = 0;
    const Node* group = nullptr;  ///< Matched `count` times so far, last from text[begin] on; may repeat.
    std::size_t count = 0;
    const Rest* after = nullptr;
  };

  bool match_any(const std::vector<Sequence>& alternatives, std::size_t at, const Rest* rest) {
    for (const Sequence& sequence : alternatives) {
      if (may_start(sequence, at) && match_from(sequence, 0, at, rest)) return true;
    }
    return false;
  }

  bool may_start(const Sequence& sequence, std::size_t at) const {
    const unsigned char first = at < text_.size() ? static_cast<unsigned char>(text_[at]) : 0x80;
    return first >= 0x80 || sequence.starts[first];
  }

  bool match_from(const Sequence& sequence, std::size_t index, std::size_t at, const Rest* rest) {
    if (++steps_ > 200'000'000) fail_user("text: a regular expression of the tokenizer takes too many steps");
    if (index == sequence.nodes.size()) return match_rest(at, rest);
    const Node& node = sequence.nodes[index];
    const Rest next{.sequence = &sequence, .index = index + 1, .after = rest};
    switch (node.kind) {
      case Node::Kind::set:
        return match_set(node, at, next);
      case Node::Kind::group:
        return match_group(node, 0, at, &next);
      case Node::Kind::look_ahead:
      case Node::Kind::look_ahead_not: {
        const bool found = Matcher(text_, steps_).match(node.alternatives, at);
        return found == (node.kind == Node::Kind::look_ahead) && match_rest(at, &next);
      }
      case Node::Kind::line_end:
        return (at == text_.size() || text_[at] == '\n') && match_rest(at, &next);
      case Node::Kind::text_end:
        return at == text_.size() && match_rest(at, &next);
    }
    return false;
  }

  bool match_rest(std::size_t at, const Rest* rest) {
    if (rest == nullptr) {
      end_ = at;
      return true;
    }
    if (rest->group != nullptr) return match_group(*rest->group, rest->count, at, rest->after);
    return match_from(*rest->sequence, rest->index, at, rest->after);
  }

  bool match_group(const Node& node, std::size_t count, std::size_t at, const Rest* rest) {
    if (count > 500) fail_user("text: a group of the tokenizer's regular expression repeats more than 500 times");
    if (node.greed == Node::Greed::possessive) return match_possessive(node, at, rest);
    if (node.greed == Node::Greed::lazy && count >= node.least && match_rest(at, rest)) return true;
    const Rest again{.group = &node, .count = count + 1, .after = rest};
    if (count < node.most && match_any(node.alternatives, at, &again)) return true;
    return node.greed == Node::Greed::greedy && count >= node.least && match_rest(at, rest);
  }

  bool match_possessive(const Node& node, std::size_t at, const Rest* rest) {
    std::size_t count = 0;
    for (Matcher one(text_, steps_); count < node.most && one.match(node.alternatives, at); ++count) at = one.end();
    return count >= node.least && match_rest(at, rest);
  }

  /// Moves `at` past one character of the node's set, or returns false.
  bool step(const Node& node, std::size_t& at) const {
    if (at >= text_.size()) return false;
    std::size_t next = at;
    const char32_t c = unicode::next_code_point(text_, next);
    if (!(c < 0x80 ? node.ascii[c] : node.set.contains(c))) return false;
    at = next;
    return true;
  }

  bool match_set(const Node& node, std::size_t at, const Rest& next) {
    const std::size_t most = node.greed == Node::Greed::lazy ? node.least : node.most;
    std::size_t count = 0;
    while (count < most && step(node, at)) ++count;
    steps_ += count;
    if (count < node.least) return false;
    if (node.greed == Node::Greed::lazy) return match_lazily(node, count, at, next);
    for (;; --count) {
      if (match_rest(at, &next)) return true;
      if (count == node.least || node.greed == Node::Greed::possessive) return false;
      unicode::previous_code_point(text_, at);
    }
  }

  bool match_lazily(const Node& node, std::size_t count, std::size_t at, const Rest& next) {
    while (!match_rest(at, &next)) {
      if (count++ == node.most || !step(node, at)) return false;
    }
    return true;
  }

  std::string_view text_;
  std::size_t& steps_;
  std::size_t end_ = 0;
};

}  // namespace

bool CharacterSet::contains(char32_t c) const {
  const auto in_range = [&](const Range& range) { return c >= range.first && c <= range.last; };
  const auto in_set = [&](const CharacterSet& set) { return set.contains(c); };
  const bool inside = (categories != 0 && (categories >> unicode::category(c) & 1) != 0) ||
                      (properties != 0 && (unicode::properties(c) & properties) != 0) ||
                      (classes != 0 && (unicode::classes(c) & classes) != 0) ||
                      std::any_of(ranges.begin(), ranges.end(), in_range) ||
                      std::any_of(members.begin(), members.end(), in_set);
  return inside != negated;
}

Expression::Expression(std::string_view source, const std::string& name) {
  ExpressionParser parser(source, name);
  std::vector<Sequence> made = parser.parse();
  if (may_be_empty(made)) parser.refuse("matches of the empty text");
  if (has_empty_repetition(made)) parser.refuse("a repeated group that may be empty");
  alternatives_ = std::make_shared<const std::vector<Sequence>>(std::move(made));
}

Expression::Expression(unicode::Property property) {
  Node node;
  node.set.properties = property;
  for (char32_t c = 0; c < node.ascii.size(); ++c) node.ascii[c] = node.set.contains(c);
  alternatives_ = std::make_shared<const std::vector<Sequence>>(std::vector<Sequence>{sequence_of({node})});
}

Expression Expression::of_text(std::string_view text) {
  Expression made;
  made.literal_ = text;
  return made;
}

Expression::Match Expression::find(std::string_view text, std::size_t at) const {
  if (!literal_.empty()) {
    const std::size_t begin = text.find(literal_, at);
    const std::size_t end = begin == std::string_view::npos ? begin : begin + literal_.size();
    return {begin, end};
  }
  std::size_t steps = 0;
  for (; at < text.size(); unicode::next_code_point(text, at)) {
    Matcher matcher(text, steps);
    if (matcher.match(*alternatives_, at)) return {at, matcher.end()};
  }
  return {std::string_view::npos, std::string_view::npos};
}

}  // namespace assay
