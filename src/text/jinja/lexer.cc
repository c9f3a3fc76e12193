// As jinja2.lexer reads a template, with trim_blocks and lstrip_blocks.
#include "text/jinja/lexer.h"

#include <algorithm>
#include <array>

#include "base/printable.h"
#include "text/jinja/strings.h"
#include "text/unicode.h"

namespace assay::jinja {
namespace {

constexpr std::array signs = {"//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[",
                              "]",  "(",  ")",  "{",  "}",  ">",  "<", "=", ".", ":", "|", ",", ";"};
constexpr std::size_t npos = std::string_view::npos;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_name_letter(char c) {
  return c == '_' || is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// Line ends are "\n", and the last one does not count.
std::string with_plain_lines(std::string_view source) {
  std::string made;
  for (std::size_t i = 0; i < source.size(); ++i) {
    const bool carriage_return = source[i] == '\r';
    if (carriage_return && i + 1 < source.size() && source[i + 1] == '\n') ++i;
    made += carriage_return ? '\n' : source[i];
  }
  if (made.ends_with('\n')) made.pop_back();
  return made;
}

/// The kinds of tags, by the character that follows '{'.
struct Tag {
  char letter;
  const char* end;
  Token::Kind begins;
  Token::Kind ends;
};
constexpr std::array tags = {Tag{'%', "%}", Token::Kind::block_begin, Token::Kind::block_end},
                             Tag{'{', "}}", Token::Kind::output_begin, Token::Kind::output_end},
                             Tag{'#', "#}", Token::Kind::end, Token::Kind::end}};

class Lexer {
 public:
  Lexer(std::string_view source, const std::string& name) : source_(source), name_(name) {}

  std::vector<Token> read() {
    while (at_ < source_.size()) {
      const std::size_t begin = find_tag();
      if (begin == npos) {
        append(Token::Kind::data, std::string(source_.substr(at_)));
        at_ = source_.size();
        break;
      }
      read_tag(begin);
    }
    append(Token::Kind::end, "");
    return std::move(tokens_);
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    Budget budget;
    Site{name_, line(), budget}.refuse_text(what);
  }

  /// Of the place that was reached.
  int line() const {
    counted_ += static_cast<int>(std::count(source_.begin() + static_cast<std::ptrdiff_t>(counted_to_),
                                            source_.begin() + static_cast<std::ptrdiff_t>(at_), '\n'));
    counted_to_ = at_;
    return counted_;
  }

  void append(Token::Kind kind, std::string text) {
    if (kind != Token::Kind::data || !text.empty()) tokens_.push_back({kind, std::move(text), line()});
  }

  bool next_is(std::string_view text) const { return source_.substr(at_).starts_with(text); }
  bool take(std::string_view text) {
    if (!next_is(text)) return false;
    at_ += text.size();
    return true;
  }

  std::size_t find_tag() const {
    std::size_t at = source_.find('{', at_);
    while (at != npos && (at + 1 == source_.size() || std::string_view("%{#").find(source_[at + 1]) == npos)) {
      at = source_.find('{', at + 1);
    }
    return at;
  }

  void read_tag(std::size_t begin) {
    const Tag& tag =
        *std::find_if(tags.begin(), tags.end(), [&](const Tag& of) { return of.letter == source_[begin + 1]; });
    const char sign = begin + 2 < source_.size() ? source_[begin + 2] : '\0';
    append(Token::Kind::data, std::string(without_indent(source_.substr(at_, begin - at_), tag, sign)));
    at_ = begin + 2;
    if (sign == '-' || sign == '+') ++at_;
    if (tag.letter == '#') return skip_comment();
    append(tag.begins, "");
    read_inside(tag);
  }

  /// The text before a tag: `-` strips its white space, lstrip_blocks that of its last line.
  std::string_view without_indent(std::string_view text, const Tag& tag, char sign) const {
    if (sign == '-') return strip(text, Sides::right);
    if (sign == '+' || tag.letter == '{') return text;
    const std::size_t line_begin = text.rfind('\n') + 1;
    const bool starts_line = line_begin > 0 || at_ == 0 || source_[at_ - 1] == '\n';
    const bool blank = strip(text.substr(line_begin), Sides::left).empty();
    return starts_line && blank ? text.substr(0, line_begin) : text;
  }

  void skip_comment() {
    const std::size_t end = source_.find("#}", at_);
    if (end == npos) refuse("a comment has no end");
    const char sign = end > at_ ? source_[end - 1] : '\0';
    at_ = end + 2;
    finish_tag(tags[2], sign);
  }

  /// What goes after a tag: all white space behind `-`, one line end behind blocks and comments.
  void finish_tag(const Tag& tag, char sign) {
    if (sign == '-') {
      at_ = source_.size() - strip(source_.substr(at_), Sides::left).size();
    } else if (sign != '+' && tag.letter != '{') {
      take("\n");
    }
  }

  bool take_end(const Tag& tag) {
    for (const std::string sign : {"-", "+", ""}) {
      if (!open_.empty() || (sign == "+" && tag.letter == '{') || !next_is(sign + tag.end)) continue;
      append(tag.ends, "");
      take(sign + tag.end);
      finish_tag(tag, sign.empty() ? '\0' : sign[0]);
      return true;
    }
    return false;
  }

  void read_inside(const Tag& tag) {
    for (;;) {
      at_ = source_.size() - strip_space(source_.substr(at_)).size();
      if (at_ == source_.size()) refuse(fmt::format("a tag has no '{}'", tag.end));
      if (take_end(tag)) return;
      read_token();
    }
  }

  static std::string_view strip_space(std::string_view text) { return strip(text, Sides::left); }

  void read_token() {
    const char c = source_[at_];
    if (is_digit(c)) return read_number();
    if (is_name_letter(c)) return append(Token::Kind::name, std::string(take_while(is_name_letter)));
    if (c == '\'' || c == '"') return read_string(c);
    const auto* const sign = std::find_if(signs.begin(), signs.end(), [&](const char* of) { return next_is(of); });
    if (sign == signs.end()) refuse(fmt::format("'{}' in a tag", printable(characters(source_.substr(at_))[0])));
    balance(**sign);
    append(Token::Kind::sign, *sign);
    take(*sign);
  }

  void balance(char sign) {
    constexpr std::string_view opening = "([{";
    constexpr std::string_view closing = ")]}";
    if (opening.find(sign) != npos) open_ += closing[opening.find(sign)];
    if (closing.find(sign) == npos) return;
    if (open_.empty() || open_.back() != sign) refuse(fmt::format("a '{}' that closes nothing", sign));
    open_.pop_back();
  }

  std::string_view take_while(bool (*wanted)(char)) {
    const std::size_t begin = at_;
    while (at_ < source_.size() && wanted(source_[at_])) ++at_;
    return source_.substr(begin, at_ - begin);
  }

  /// Of "e5", "E-10" at this place; 0 where there is none.
  std::size_t exponent_size() const {
    std::size_t end = at_ + 1;
    if (!next_is("e") && !next_is("E")) return 0;
    if (end < source_.size() && (source_[end] == '+' || source_[end] == '-')) ++end;
    const std::size_t digits = end;
    while (end < source_.size() && is_digit(source_[end])) ++end;
    return end == digits ? 0 : end - at_;
  }

  void read_number() {
    const bool after_dot = at_ > 0 && source_[at_ - 1] == '.';
    std::string number(take_while(is_digit));
    Token::Kind kind = Token::Kind::integer;
    if (!after_dot && next_is(".") && at_ + 1 < source_.size() && is_digit(source_[at_ + 1])) {
      take(".");
      number += "." + std::string(take_while(is_digit));
      kind = Token::Kind::real;
    }
    if (const std::size_t size = exponent_size(); size > 0) {
      number += source_.substr(at_, size);
      at_ += size;
      kind = Token::Kind::real;
    }
    const bool odd = kind == Token::Kind::integer && number.size() > 1 && number[0] == '0';
    if (odd || number.size() > 18 || (at_ < source_.size() && is_name_letter(source_[at_]))) {
      refuse(fmt::format("the number that begins with {} is not supported", number.substr(0, 20)));
    }
    append(kind, number);
  }

  void read_string(char quote) {
    const std::size_t begin = ++at_;
    std::string made;
    while (at_ < source_.size() && source_[at_] != quote) {
      if (source_[at_] == '\\') {
        ++at_;
        append_escaped(made);
      } else {
        made += source_[at_++];
      }
    }
    if (at_ >= source_.size()) {
      at_ = begin;
      refuse("a string has no end");
    }
    append(Token::Kind::text, std::move(made));
    ++at_;
  }

  /// What follows a backslash, as Python's "unicode-escape" reads it.
  void append_escaped(std::string& out) {
    constexpr std::string_view letters = "ntr\\'\"abfv";
    constexpr std::string_view values = "\n\t\r\\'\"\a\b\f\v";
    if (at_ >= source_.size()) return;
    const char c = source_[at_];
    if (const std::size_t known = letters.find(c); known != npos) {
      out += values[known];
      ++at_;
    } else if (c == 'x' || c == 'u' || c == 'U') {
      ++at_;
      append_code_point(c == 'x' ? 2 : c == 'u' ? 4 : 8, out);
    } else if (is_digit(c) || c == 'N') {
      refuse(fmt::format("the escape '\\{}' is not supported", c));
    } else if (c == '\n') {
      ++at_;
    } else {
      out += '\\';
    }
  }

  void append_code_point(std::size_t digits, std::string& out) {
    char32_t code_point = 0;
    for (std::size_t i = 0; i < digits; ++i, ++at_) {
      constexpr std::string_view hexadecimal = "0123456789abcdef";
      const char c = at_ < source_.size() ? source_[at_] : ' ';
      const std::size_t digit = hexadecimal.find(c >= 'A' && c <= 'F' ? static_cast<char>(c + 32) : c);
      if (digit == npos || code_point > 0x10FFFF) refuse("an escape in a string is no character");
      code_point = code_point * 16 + static_cast<char32_t>(digit);
    }
    const bool surrogate = code_point >= 0xD800 && code_point < 0xE000;
    if (surrogate || code_point > 0x10FFFF) refuse("an escape in a string is no character");
    unicode::append_utf8(code_point, out);
  }

  std::string_view source_;
  const std::string& name_;
  std::size_t at_ = 0;
  std::string open_;  ///< The brackets that are to close, innermost last.
  mutable int counted_ = 1;
  mutable std::size_t counted_to_ = 0;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> read_tokens(std::string_view source, const std::string& name) {
  unicode::check_utf8(source, name + ": the chat template");
  const std::string plain = with_plain_lines(source);
  return Lexer(plain, name).read();
}

}  // namespace assay::jinja
